/** Verifies a save of any format that is read from its bytes. */
import { detectFormat } from '../formats/formats.ts';
import { DCP } from '../formats/dcp/dcp.ts';
import { FSDP_DTENSOR } from '../formats/torch-dist/megatron-formats.ts';
import { REFERENCE } from '../formats/reference/reference.ts';
import { SAFETENSORS } from '../formats/safetensors/safetensors.ts';
import { TORCH_DIST } from '../formats/torch-dist/torch-dist.ts';
import type { Reading, StoredFile } from '../read/save-files.ts';
import type { Finding, FindingKind } from './finding.ts';
import type { Look, LookOptions } from './look.ts';
import { verifyDcp } from './verify-dcp.ts';
import { verifySafetensors } from './verify-safetensors.ts';

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

/** Files that show the format of a save whose index is missing, or that has none. */
const FORMAT_OF_FILE: readonly (readonly [pattern: RegExp, format: string])[] = [
  [/^[^/]*\.distcp$/, DCP.names[0]],
  // PyTorch’s writer of safetensors names its files so, and writes no index.
  [/^shard-\d+-model-\d+-of-\d+\.safetensors$/, SAFETENSORS.names[0]],
];

/** Looks at a save up to a level, in the way of its format. */
export function* verifySave(files: readonly StoredFile[], options: LookOptions): Reading<SaveLook> {
  const paths = new Set(files.map(({ path }) => path));
  const format = detectFormat(paths)?.names[0] ?? formatOfFiles([...paths]);
  const look = yield* lookOf(format, files, options);
  return { ...look, format, verdict: verdictOf(look.findings) };
}

/** Whether anything can be read from the bytes of a save that its manifest calls this; one with an unknown name may be of a known format. */
export function hasReader(format: string): boolean {
  // Files of the stand-in engine hold no tensors.
  return !REFERENCE.names.some((name) => name === format);
}

/** The verdict of these findings. */
export function verdictOf(findings: readonly Finding[]): Verdict {
  return KINDS.find((kind) => findings.some((finding) => finding.kind === kind)) ?? 'sound';
}

function formatOfFiles(paths: readonly string[]): string | undefined {
  return FORMAT_OF_FILE.find(([pattern]) => paths.some((path) => pattern.test(path)))?.[1];
}

function* lookOf(format: string | undefined, files: readonly StoredFile[], options: LookOptions): Reading<Look> {
  switch (format) {
    case DCP.names[0]:
    case FSDP_DTENSOR.names[0]:
    case TORCH_DIST.names[0]:
      return yield* verifyDcp(files, options);
    case SAFETENSORS.names[0]:
      return yield* verifySafetensors(files, options);
    default:
      return { state: undefined, findings: [notRead(format)] };
  }
}

function notRead(format: string | undefined): Finding {
  const what =
    format === undefined
      ? 'No file here belongs to a known format of checkpoints. Name the directory of one save.'
      : `Saves of format ${format} are not read from their bytes yet.`;
  return { level: 'V0', kind: 'unverifiable', sentence: what };
}
