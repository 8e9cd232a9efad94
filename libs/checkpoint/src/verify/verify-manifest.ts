/** Compares the files of a save with the manifest that lists them: all saves that this project reports have one. */
import { worldSize } from '@coxswain/layout';
import { DATA, EXPERT, PIPELINE, TENSOR } from '../formats/degrees.ts';
import { MANIFEST_FILE } from '../formats/manifest-file.ts';
import { CheckpointManifest } from '../manifest.ts';
import { parseJson } from '../read/parse-json.ts';
import { readBytes, type Reading, type StoredFile } from '../read/save-files.ts';
import type { SavedFacts } from '../read/saved-state.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';
import type { Finding, FindingKind, Level } from './finding.ts';
import { isUpTo, type Look, type LookOptions } from './look.ts';

/** A million files take 200 MB. */
const MAX_MANIFEST = 256 << 20;
const MAX_LISTED = 8;
const PIECE = 4 << 20;
/** What the manifest of a save shows. */
export interface ManifestLook {
  readonly findings: readonly Finding[];
  /** undefined: there is no manifest, or it is another program's. */
  readonly facts: SavedFacts | undefined;
  /** Files whose bytes were compared with the SHA-256 of the manifest. */
  readonly compared: ReadonlySet<string>;
}

/** Looks at the manifest and the files that it lists. */
export function* lookAtManifest(files: readonly StoredFile[], options: LookOptions): Reading<ManifestLook> {
  const manifest = yield* readManifest(files);
  if (manifest === undefined) return { findings: [], facts: undefined, compared: new Set() };
  const differences = isUpTo('V1', options) ? compareFiles(manifest, files) : [];
  const compared = new Set<string>();
  const contents = differences.length === 0 ? yield* compareContents(manifest, options, compared) : [];
  return { findings: [...differences, ...contents], facts: factsOf(manifest), compared };
}

function* readManifest(files: readonly StoredFile[]): Reading<CheckpointManifest | undefined> {
  const file = files.find(({ path }) => path === MANIFEST_FILE);
  if (file === undefined || file.isLink === true || file.bytes > MAX_MANIFEST) return undefined;
  try {
    return CheckpointManifest.safeParse(parseJson(yield* readBytes(file.path, 0, file.bytes))).data;
  } catch (error) {
    if (error instanceof UnreadableSave) return undefined;
    throw error;
  }
}

function finding(kind: FindingKind, sentence: string, level: Level = 'V1'): Finding {
  return { level, kind, sentence };
}

function compareFiles({ files }: CheckpointManifest, stored: readonly StoredFile[]): readonly Finding[] {
  const there = new Map(stored.map((file) => [file.path, file]));
  const differences = files.flatMap(({ path, bytes }) => compareFile(path, bytes, there.get(path)));
  const listed = new Set([MANIFEST_FILE, ...files.map(({ path }) => path)]);
  const others = stored.filter(({ path }) => !listed.has(path));
  const more = differences.length - MAX_LISTED;
  return [
    ...differences.slice(0, MAX_LISTED),
    ...(more > 0 ? [finding('damaged', `${String(more)} more files are not as ${MANIFEST_FILE} lists them.`)] : []),
    ...(others.length > 0
      ? [
          finding(
            'suspect',
            `${String(others.length)} files, such as ${others[0]?.path ?? ''}, are not in ${MANIFEST_FILE}: they were not there when the save was reported.`,
          ),
        ]
      : []),
  ];
}

function compareFile(path: string, bytes: number, file: StoredFile | undefined): readonly Finding[] {
  if (file === undefined) return [finding('incomplete', `File ${path} is not there; ${MANIFEST_FILE} lists it.`)];
  if (file.isLink === true) return [finding('damaged', `File ${path} is a link, which is not followed.`)];
  if (file.bytes === bytes) return [];
  return [
    finding('damaged', `File ${path} has ${String(file.bytes)} bytes, and ${MANIFEST_FILE} lists ${String(bytes)}.`),
  ];
}

/** Also files with a CRC-32 of their own, which those of another save have too: only this shows that two saves are mixed. */
function* compareContents(
  { files }: CheckpointManifest,
  options: LookOptions,
  compared: Set<string>,
): Reading<readonly Finding[]> {
  if (!isUpTo('V3', options) || options.sha256 === undefined) return [];
  const findings: Finding[] = [];
  for (const { path, bytes, sha256: wanted } of files) {
    if (wanted === undefined) continue;
    const hash = options.sha256();
    for (let at = 0; at < bytes; at += PIECE) hash.update(yield* readBytes(path, at, Math.min(PIECE, bytes - at)));
    compared.add(path);
    if (hash.digest('hex') !== wanted)
      findings.push(finding('damaged', `File ${path} has another SHA-256 than ${MANIFEST_FILE} lists.`, 'V3'));
  }
  return findings;
}

function factsOf({ step, layout }: CheckpointManifest): SavedFacts {
  return {
    step,
    worldSize: worldSize(layout),
    degrees: Object.fromEntries([TENSOR, PIPELINE, DATA, EXPERT].map(({ field, of }) => [field, of(layout)])),
    holds: { optimizer: undefined, randomStates: undefined, dataLoader: undefined, scheduler: undefined },
  };
}

/** Looks at a save of an engine that leaves a file for each rank, and nothing that is read here but their sizes and SHA-256. */
export function* verifyReference(files: readonly StoredFile[], options: LookOptions): Reading<Look> {
  const objects = files
    .filter(({ path }) => path !== MANIFEST_FILE)
    .map(({ path, bytes }) => ({ key: path, item: { file: path, offset: 0, length: bytes } }));
  const manifest = files.find(({ path }) => path === MANIFEST_FILE);
  if (manifest === undefined)
    return {
      state: undefined,
      findings: [finding('incomplete', `The save has no ${MANIFEST_FILE}: it was not finished.`, 'V0')],
    };
  const noChecksum = finding('unverifiable', 'Nothing in the files shows whether their content is right.', 'V3');
  return {
    state: { tensors: [], objects },
    findings: isUpTo('V3', options) && options.sha256 === undefined ? [noChecksum] : [],
  };
}
