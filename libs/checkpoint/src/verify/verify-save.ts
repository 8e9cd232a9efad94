/** Verifies a save of any format that is read from its bytes. */
import { detectFormat, formatNamed } from '../formats/formats.ts';
import { DCP } from '../formats/dcp/dcp.ts';
import { MEGATRON_LEGACY } from '../formats/torch-dist/megatron-formats.ts';
import { DEEPSPEED, DEEPSPEED_UNIVERSAL } from '../formats/deepspeed/deepspeed.ts';
import { RECOGNISED } from '../formats/recognised/recognised.ts';
import { MANIFEST_FILE } from '../formats/manifest-file.ts';
import { REFERENCE } from '../formats/reference/reference.ts';
import { SAFETENSORS } from '../formats/safetensors/safetensors.ts';
import { TRAINER } from '../formats/safetensors/trainer.ts';
import { TORCH_DIST } from '../formats/torch-dist/torch-dist.ts';
import { CONVERSION_FILE, DELETION_FILE, type Reading, RESHARD_FILE, type StoredFile } from '../read/save-files.ts';
import type { Finding, FindingKind } from './finding.ts';
import type { Look, LookOptions } from './look.ts';
import { verifyDeepspeed } from './verify-deepspeed.ts';
import { lookAtManifest, type ManifestLook, verifyReference } from './verify-manifest.ts';
import { describeMegatronLegacy, describerOf } from './verify-recognised.ts';
import { NO_CHECKSUM, verifySafetensors } from './verify-safetensors.ts';
import { verifyDcpOrMegatron, verifyTorchDist } from './verify-torch-dist.ts';
import { verifyTrainer } from './verify-trainer.ts';
import { verifyUniversal } from './verify-universal.ts';

/** What a look at a save says of it: that of its worst finding; sound if there is none. */
export type Verdict = 'sound' | FindingKind;

/** A look at a save with its format and verdict. */
export interface SaveLook extends Look {
  /** undefined: no format that is known here. */
  readonly format: string | undefined;
  readonly verdict: Verdict;
}

/** The worst first. */
const KINDS: readonly FindingKind[] = ['damaged', 'incomplete', 'suspect', 'unverifiable'];

const BEING_DELETED: Look = {
  state: undefined,
  findings: [
    {
      level: 'V0',
      kind: 'incomplete',
      sentence: `Its deletion has begun: it holds ${DELETION_FILE}, and files are missing.`,
    },
  ],
};

/** Files that show the format of a save whose index is missing, or that has none. */
const FORMAT_OF_FILE: readonly (readonly [pattern: RegExp, format: string])[] = [
  [/^[^/]*\.distcp$/, DCP.names[0]],
  [/^(?:bf16_|fp16_)?zero_pp_rank_\d+_mp_rank_\d+_optim_states\.pt$/, DEEPSPEED.names[0]],
  [REFERENCE.rankFile, REFERENCE.names[0]],
  // PyTorch’s writer of safetensors names its files so, and writes no index.
  [/^shard-\d+-model-\d+-of-\d+\.safetensors$/, SAFETENSORS.names[0]],
  // The Trainer writes them beside its weights, and its marker last.
  [/^(?:scheduler\.pt|rng_state(?:_\d+)?\.pth)$/, TRAINER.names[0]],
];

/** Formats whose files stand in unfinished saves of other formats: manifests, and weights. */
const PARTS_OF_OTHERS: readonly (string | undefined)[] = [undefined, REFERENCE.names[0], SAFETENSORS.names[0]];

/** Looks at a save up to a level, in the way of its format, and at the manifest beside it. */
export function* verifySave(listed: readonly StoredFile[], options: LookOptions): Reading<SaveLook> {
  const files = listed.filter(({ path }) => path !== RESHARD_FILE && path !== CONVERSION_FILE);
  const paths = new Set(files.map(({ path }) => path));
  const format = formatOf(paths);
  if (paths.has(DELETION_FILE)) return { ...BEING_DELETED, format, verdict: verdictOf(BEING_DELETED.findings) };
  const manifest = yield* lookAtManifest(files, options);
  const isOther = manifest.facts !== undefined && format !== REFERENCE.names[0];
  const look = yield* lookOf(format, isOther ? files.filter(({ path }) => path !== MANIFEST_FILE) : files, options);
  return withManifest({ ...look, format: look.foundFormat ?? format }, manifest, files);
}

/** What the format does not say, the manifest says; and its SHA-256 are the checksums of files that have none. */
function withManifest(
  look: Omit<SaveLook, 'verdict'>,
  { findings: found, facts, compared }: ManifestLook,
  files: readonly StoredFile[],
): SaveLook {
  const isCompared = files.every(({ path }) => !path.endsWith('.safetensors') || compared.has(path));
  const isBroken = look.format === REFERENCE.names[0] && look.state !== undefined && facts === undefined;
  const findings = [
    ...(isBroken ? [BROKEN_MANIFEST] : []),
    ...found.filter(({ level }) => level !== 'V3'),
    // A CRC-32 shows which tensor differs, and the SHA-256 of a file does not.
    ...look.findings.filter((finding) => !(isCompared && finding === NO_CHECKSUM)),
    ...found.filter(({ level }) => level === 'V3'),
  ];
  const state = look.state && facts ? { ...look.state, facts: { ...facts, ...look.state.facts } } : look.state;
  return { ...look, state, findings, verdict: verdictOf(findings) };
}

const BROKEN_MANIFEST: Finding = {
  level: 'V1',
  kind: 'damaged',
  sentence: `File ${MANIFEST_FILE} is no manifest of a checkpoint.`,
};

/** Whether more than sizes can be read of a save that its manifest calls this; one with an unknown name may be of a known format. */
export function hasReader(format: string): boolean {
  // Files of the stand-in engine hold no tensors, and their sizes were compared with the manifest.
  return !REFERENCE.names.some((name) => name === format);
}

/** Whether a worker can read more than sizes of a save in this format. A reader for an unknown name can exist: only the files of the save show it. */
export function isReadable(format: string): boolean {
  return hasReader(format) && formatNamed(format) !== undefined;
}

/** The verdict of these findings. */
export function verdictOf(findings: readonly Finding[]): Verdict {
  return KINDS.find((kind) => findings.some((finding) => finding.kind === kind)) ?? 'sound';
}

function formatOf(paths: ReadonlySet<string>): string | undefined {
  const detected = detectFormat(paths)?.names[0];
  return PARTS_OF_OTHERS.includes(detected) ? (formatOfFiles([...paths]) ?? detected) : detected;
}

function formatOfFiles(paths: readonly string[]): string | undefined {
  return FORMAT_OF_FILE.find(([pattern]) => paths.some((path) => pattern.test(path)))?.[1];
}

/** Looks at the files of a save of one format. */
type VerifyFiles = (files: readonly StoredFile[], options: LookOptions) => Reading<Look>;

/** One line a format. */
const VERIFIERS: ReadonlyMap<string | undefined, VerifyFiles> = new Map<string | undefined, VerifyFiles>([
  [DCP.names[0], verifyDcpOrMegatron],
  [TORCH_DIST.names[0], verifyTorchDist],
  [SAFETENSORS.names[0], verifySafetensors],
  [TRAINER.names[0], verifyTrainer],
  [MEGATRON_LEGACY.names[0], describeMegatronLegacy],
  ...RECOGNISED.map((format) => [format.names[0], describerOf(format)] as const),
  [REFERENCE.names[0], verifyReference],
  [DEEPSPEED.names[0], verifyDeepspeed],
  [DEEPSPEED_UNIVERSAL.names[0], verifyUniversal],
]);

function* lookOf(format: string | undefined, files: readonly StoredFile[], options: LookOptions): Reading<Look> {
  const verify = VERIFIERS.get(format);
  return verify === undefined ? { state: undefined, findings: [notRead(format)] } : yield* verify(files, options);
}

function notRead(format: string | undefined): Finding {
  const what =
    format === undefined
      ? 'No file here belongs to a known format of checkpoints. Name the directory of one save.'
      : `Saves of format ${format} are not read from their bytes yet.`;
  return { level: 'V0', kind: 'unverifiable', sentence: what };
}
