/** Formats that are recognised and described by the names of their files. No engine that Coxswain renders saves them. */
import type { CheckpointFormat } from '../checkpoint-format.ts';

/** What names of files say about a save. */
export interface NamedSave {
  /** Such as `torch_checkpointing`. */
  readonly title: string;
  /** Ranks that have a file, if names say ranks. */
  readonly ranks: readonly number[];
  /** Each rank writes a file. Otherwise a rank can have nothing to write. */
  readonly isOfEachRank?: boolean;
  /** Files that a finished save has, and that are not there. */
  readonly missing: readonly string[];
  readonly step?: number;
}

/** A format with what its names say. */
export type RecognisedFormat = CheckpointFormat & { readonly describe: (paths: ReadonlySet<string>) => NamedSave };

const ranksOf = (paths: ReadonlySet<string>, pattern: RegExp): readonly number[] =>
  [...new Set([...paths].flatMap((path) => pattern.exec(path)?.[1] ?? []).map(Number))].toSorted(
    (one, other) => one - other,
  );

const some = (paths: ReadonlySet<string>, pattern: RegExp): boolean => [...paths].some((path) => pattern.test(path));

const without = (paths: ReadonlySet<string>, wanted: readonly string[]): readonly string[] =>
  wanted.filter((path) => !paths.has(path));

const common = { indexFile: undefined, describeMissing: () => undefined, engines: [] } as const;

const TORCH_CHECKPOINTING_FILE = /^[^/]+_(\d{1,6})\.pt$/;
/** meta-pytorch/torch_checkpointing: a file for each item and rank, and `metadata.pkl`, which says how tensors are placed on meshes. */
const TORCH_CHECKPOINTING = {
  ...common,
  names: ['torch_checkpointing'],
  detect: (paths) => paths.has('metadata.pkl') && some(paths, TORCH_CHECKPOINTING_FILE),
  describe: (paths) => ({ title: 'torch_checkpointing', ranks: ranksOf(paths, TORCH_CHECKPOINTING_FILE), missing: [] }),
} as const satisfies RecognisedFormat;

/** ByteCheckpoint 0.0.3: three folders; two of them are like DCP, with raw bytes in place of archives. */
const BYTE_CHECKPOINT = {
  ...common,
  names: ['bytecheckpoint'],
  detect: (paths) =>
    paths.has('model/.metadata') ||
    paths.has('optimizer/.metadata') ||
    some(paths, /^extra_state\/extra_state_rank_\d+\.pt$/),
  describe: (paths) => ({
    title: 'ByteCheckpoint',
    ranks: ranksOf(paths, /^extra_state\/extra_state_rank_(\d{1,6})\.pt$/),
    missing: without(paths, ['model/.metadata', 'optimizer/.metadata']),
  }),
} as const satisfies RecognisedFormat;

const LOCAL_FILE = /^(?:.*\/)?iter_(\d{7,15})_(\d{1,6})_local\.pt(\.dirty)?$/;
/** Local checkpoints of nvidia-resiliency-ext: a file for each rank on its own node; all ranks of the same number of ranks load them. */
const NVRX_LOCAL = {
  ...common,
  names: ['nvrx_local'],
  detect: (paths) => some(paths, LOCAL_FILE),
  describe: (paths) => {
    const newest = [...paths].reduce((most, path) => Math.max(most, Number(LOCAL_FILE.exec(path)?.[1] ?? -1)), -1);
    const own = [...paths].filter((path) => Number(LOCAL_FILE.exec(path)?.[1] ?? -1) === newest);
    const finished = new Set(own.filter((path) => !path.endsWith('.dirty')));
    const dirty = own.filter((path) => path.endsWith('.dirty')).map((path) => path.slice(0, -'.dirty'.length));
    return {
      title: 'local checkpoints of nvidia-resiliency-ext',
      isOfEachRank: true,
      ranks: ranksOf(finished, /_(\d{1,6})_local\.pt$/),
      missing: dirty.filter((path) => !finished.has(path)),
      step: newest,
    };
  },
} as const satisfies RecognisedFormat;

/** Orbax: a folder for each item, in OCDBT or zarr. */
const ORBAX = {
  ...common,
  names: ['orbax'],
  detect: (paths) => some(paths, /^(?:orbax\.checkpoint|_CHECKPOINT_METADATA|(?:.*\/)?manifest\.ocdbt)$/),
  describe: (paths) => ({
    title: 'Orbax',
    ranks: ranksOf(paths, /(?:^|\/)array_metadatas\/process_(\d{1,6})$/),
    missing: paths.has('orbax.checkpoint') ? [] : without(paths, ['_CHECKPOINT_METADATA']),
  }),
} as const satisfies RecognisedFormat;

const RANK_METADATA = /^__(\d{1,6})\.metadata$/;
/** PyTorch Distributed Checkpoint without collectives: each rank has metadata of its own, and only the same ranks load it. */
const DCP_RANK_LOCAL = {
  ...common,
  names: ['dcp_rank_local'],
  detect: (paths) => !paths.has('.metadata') && some(paths, RANK_METADATA),
  describe: (paths) => {
    const writers = ranksOf(paths, /^__(\d{1,6})_\d+\.distcp$/);
    return {
      title: 'PyTorch Distributed Checkpoint with metadata for each rank',
      isOfEachRank: true,
      ranks: ranksOf(paths, RANK_METADATA),
      missing: without(
        paths,
        writers.map((rank) => `__${String(rank)}.metadata`),
      ),
    };
  },
} as const satisfies RecognisedFormat;

/** All of them, the most specific first. */
export const RECOGNISED: readonly RecognisedFormat[] = [
  BYTE_CHECKPOINT,
  NVRX_LOCAL,
  DCP_RANK_LOCAL,
  ORBAX,
  TORCH_CHECKPOINTING,
];
