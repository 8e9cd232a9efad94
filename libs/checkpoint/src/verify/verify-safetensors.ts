/** Verifies weights in safetensors: one file, several with an index, or those that PyTorch wrote distributed. */
import {
  type FiledTensor,
  headerBytes,
  LENGTH_BYTES,
  readSafetensors,
} from '../formats/safetensors/read-safetensors.ts';
import { SAFETENSORS } from '../formats/safetensors/safetensors.ts';
import { z } from 'zod';
import { parseJson } from '../read/parse-json.ts';
import { readBytes, type Reading, type StoredFile } from '../read/save-files.ts';
import type { SavedState, SavedTensor } from '../read/saved-state.ts';
import { UnreadableSave } from '../read/unreadable-save.ts';
import { allComparisons, describeCoverage } from './coverage.ts';
import type { Finding } from './finding.ts';
import { isUpTo, type Look, type LookOptions } from './look.ts';

const Index = z.looseObject({
  metadata: z
    .looseObject({ total_size: z.number().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  weight_map: z.record(z.string(), z.string()),
});
const MAX_INDEX = 100_000_000;

/** Looks at a save up to a level. The format has no checksums, so the content of a whole file stays unverifiable. */
export function* verifySafetensors(listed: readonly StoredFile[], options: LookOptions): Reading<Look> {
  const index = yield* readIndex(listed);
  const weights = weightsOf(listed, index.map);
  const read = yield* readFiles(weights);
  const state = { tensors: joined(read.tensors), objects: [], facts: WEIGHTS_ALONE } satisfies SavedState;
  const findings = [
    ...read.findings,
    ...index.findings,
    ...missingFiles(index.map, weights),
    ...missingShards(weights),
    ...missingTensors(index.map, read),
    ...staleIndex(index, read, listed),
    ...coverageOf(state, read.tensors),
    ...(isUpTo('V3', options) ? [NO_CHECKSUM] : []),
  ];
  return { state, findings };
}

const WEIGHTS_ALONE = {
  holds: { optimizer: false, randomStates: false, dataLoader: false, scheduler: false },
} as const;

/**
 * The files that loaders read: those that the index names. PyTorch leaves the parts from which it made whole files in a folder below
 * them (`sharded`): loaders ignore them, and each tensor would be there twice.
 */
function weightsOf(listed: readonly StoredFile[], map: ReadonlyMap<string, string>): readonly StoredFile[] {
  const all = listed.filter(({ path }) => path.endsWith('.safetensors'));
  const named = new Set(map.values());
  if (named.size > 0) return all.filter(({ path }) => named.has(path));
  const loaded = all.filter(({ path }) => named.has(path) || !path.includes('/'));
  return loaded.length > 0 ? loaded : all;
}

/** Nothing in a file shows whether its content is right. */
export const NO_CHECKSUM: Finding = {
  level: 'V3',
  kind: 'unverifiable',
  sentence: 'safetensors keeps no checksums: nothing shows whether the content is right.',
};

type Filed = FiledTensor & { readonly file: string };

interface ReadFiles {
  readonly tensors: readonly Filed[];
  /** Of the files whose headers are well. */
  readonly paths: ReadonlySet<string>;
  readonly findings: readonly Finding[];
}

function* readFiles(weights: readonly StoredFile[]): Reading<ReadFiles> {
  const tensors: Filed[] = [];
  const paths = new Set<string>();
  const findings: Finding[] = [];
  for (const { path, bytes, isLink } of weights) {
    try {
      if (isLink === true) throw new UnreadableSave('is a link, which is not followed');
      const length = headerBytes(yield* readBytes(path, 0, Math.min(LENGTH_BYTES, bytes)), bytes);
      const header = yield* readBytes(path, LENGTH_BYTES, length);
      for (const tensor of readSafetensors(header, bytes)) tensors.push({ ...tensor, file: path });
      paths.add(path);
    } catch (error) {
      if (!(error instanceof UnreadableSave)) throw error;
      findings.push({ level: 'V1', kind: 'damaged', sentence: `File ${path} ${error.message}.` });
    }
  }
  return { tensors, paths, findings };
}

interface ReadIndex {
  /** Files by the tensors that they hold. */
  readonly map: ReadonlyMap<string, string>;
  readonly totalBytes: number | undefined;
  readonly findings: readonly Finding[];
}

function* readIndex(listed: readonly StoredFile[]): Reading<ReadIndex> {
  const file = listed.find(({ path }) => path === SAFETENSORS.indexFile);
  if (file === undefined) return { map: new Map(), totalBytes: undefined, findings: [] };
  const isRead = file.bytes <= MAX_INDEX && file.isLink !== true;
  const index = isRead ? parseIndex(yield* readBytes(file.path, 0, file.bytes)) : undefined;
  if (index !== undefined) return { ...index, findings: [] };
  return {
    map: new Map(),
    totalBytes: undefined,
    findings: [{ level: 'V1', kind: 'damaged', sentence: `File ${file.path} is no index of weights.` }],
  };
}

function parseIndex(json: Uint8Array): Omit<ReadIndex, 'findings'> | undefined {
  try {
    const index = Index.safeParse(parseJson(json));
    if (!index.success) return undefined;
    return { map: new Map(Object.entries(index.data.weight_map)), totalBytes: index.data.metadata?.total_size };
  } catch {
    return undefined;
  }
}

function missingFiles(map: ReadonlyMap<string, string>, weights: readonly StoredFile[]): readonly Finding[] {
  const there = new Set([...weights.map(({ path }) => path)]);
  return [...new Set(map.values())]
    .filter((file) => !there.has(file))
    .map((file) => ({ level: 'V1', kind: 'incomplete', sentence: `File ${file} is not there; the index names it.` }));
}

/** Ranks number the files that they write distributed. A rank without a part of any tensor writes none (`HuggingFaceStorageWriter.write_data`). */
function missingShards(weights: readonly StoredFile[]): readonly Finding[] {
  const shards = new Set(weights.flatMap(({ path }) => SHARD_FILE.exec(path)?.[1] ?? []).map(Number));
  const absent = [...shards].find((shard) => shard > 1 && !shards.has(shard - 1));
  if (absent === undefined) return [];
  const sentence = `No file of shard ${String(absent - 1)} is here, and one of shard ${String(absent)} is: either that rank had nothing to write, or its file is missing.`;
  return [{ level: 'V1', kind: 'suspect', sentence }];
}

const SHARD_FILE = /(?:^|\/)shard-(\d{1,9})-model-\d+-of-\d+\.safetensors$/;

function missingTensors(map: ReadonlyMap<string, string>, { tensors, paths }: ReadFiles): readonly Finding[] {
  const there = new Set(tensors.map(({ key, file }) => `${file}\0${key}`));
  return [...map]
    .filter(([key, file]) => paths.has(file) && !there.has(`${file}\0${key}`))
    .map(([key, file]) => ({
      level: 'V1',
      kind: 'damaged',
      sentence: `File ${file} does not hold tensor ${key}, and the index says so.`,
    }));
}

/** A file of weights that was saved as one of several. */
const NUMBERED = /^(.+)-\d+-of-\d+\.safetensors$/;

/** Signs that index and files are of two saves. Loaders ignore all of them. */
function staleIndex(
  { map, totalBytes }: ReadIndex,
  { tensors, findings }: ReadFiles,
  listed: readonly StoredFile[],
): readonly Finding[] {
  if (map.size === 0 || findings.length > 0) return [];
  const suspect = (sentence: string): Finding => ({
    level: 'V1',
    kind: 'suspect',
    sentence: `${sentence}: two saves can be mixed here.`,
  });
  const named = new Set(map.values());
  const unnamed = listed.find(({ path }) => NUMBERED.test(path) && !path.includes('/') && !named.has(path));
  const unmapped = tensors.find(({ key }) => !map.has(key));
  const bytes = tensors.reduce((sum, { length }) => sum + length, 0);
  return [
    ...(unnamed === undefined ? [] : [suspect(`File ${unnamed.path} is not in the index`)]),
    ...(unmapped === undefined
      ? []
      : [suspect(`File ${unmapped.file} holds tensor ${unmapped.key}, which is not in the index`)]),
    ...(totalBytes === undefined || totalBytes === bytes
      ? []
      : [suspect(`The index says ${String(totalBytes)} bytes in all, and the tensors have ${String(bytes)}`)]),
  ];
}

/** Parts that PyTorch wrote distributed make one tensor; no file says how large the whole is, so it ends where the last part ends. */
function joined(tensors: readonly Filed[]): readonly SavedTensor[] {
  return [...Map.groupBy(tensors, ({ key }) => key)].map(([key, parts]) => {
    const chunks = parts.map(({ shape, savedOffsets, file, offset, length }) => ({
      offsets: savedOffsets?.length === shape.length ? savedOffsets : shape.map(() => 0),
      sizes: shape,
      item: { file, offset, length },
    }));
    const dims = chunks.reduce((most, { sizes }) => Math.max(most, sizes.length), 0);
    const shape = Array.from({ length: dims }, (_, dim) =>
      chunks.reduce((end, { offsets, sizes }) => Math.max(end, (offsets[dim] ?? 0) + (sizes[dim] ?? 0)), 0),
    );
    return { key, dtype: parts[0]?.dtype ?? '', shape, kind: 'parameter' as const, chunks };
  });
}

function coverageOf({ tensors }: SavedState, filed: readonly Filed[]): readonly Finding[] {
  const uneven = new Set(
    tensors.filter(({ chunks, shape }) => chunks.some(({ sizes }) => sizes.length !== shape.length)),
  );
  const comparisons = allComparisons();
  const isDistributed = filed.some(({ savedOffsets }) => savedOffsets !== undefined);
  const coverage = tensors
    .filter((tensor) => !uneven.has(tensor))
    .flatMap((tensor): Finding[] => {
      const end = describeCoverage(tensor, comparisons);
      if (end === undefined) return [];
      // Each rank wrote its part to a file of its own, so a part that is absent is a file that is absent.
      const kind = isDistributed && end.startsWith('lacks') ? 'incomplete' : 'damaged';
      return [{ level: 'V1', kind, sentence: `Tensor ${tensor.key} ${end}.` }];
    });
  const unknownSize: readonly Finding[] = isDistributed
    ? [
        {
          level: 'V1',
          kind: 'unverifiable',
          sentence:
            'PyTorch wrote these files distributed, and none says how large a tensor is: whether the last ranks’ files are there is not known.',
        },
      ]
    : [];
  return [
    ...[...uneven].map(({ key }): Finding => ({
      level: 'V1',
      kind: 'damaged',
      sentence: `Tensor ${key} has parts with different numbers of dims.`,
    })),
    ...coverage,
    ...unknownSize,
  ];
}
