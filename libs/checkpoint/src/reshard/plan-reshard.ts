/** Plans how a save is divided anew: where each chunk is read, and where each new one is written. It reads metadata alone. */
import { bytesOfDtype } from '../read/dtypes.ts';
import type { Crc32 } from '../read/save-files.ts';
import { type SavedChunk, type SavedObject, type SavedState, type SavedTensor, volumeOf } from '../read/saved-state.ts';
import { torchSaveFrame } from '../formats/torch-save/write-tensor.ts';
import { allComparisons, type Comparisons, describeCoverage } from '../verify/coverage.ts';
import type { Division, RankBox } from './divide.ts';

/** A chunk of the new save, which rank stores it, and where. */
export interface TargetChunk extends RankBox {
  readonly file: string;
  /** Bytes of the file before the archive of the chunk. */
  readonly offset: number;
  /** Bytes of the archive. */
  readonly length: number;
}

/** A tensor that moves. */
export interface PlannedTensor {
  readonly key: string;
  readonly dtype: string;
  readonly itemBytes: number;
  readonly shape: readonly number[];
  readonly sources: readonly SavedChunk[];
  readonly targets: readonly TargetChunk[];
}

/** An object that is copied as it is. */
export interface PlannedObject {
  readonly object: SavedObject;
  readonly file: string;
  readonly offset: number;
}

/** A part of the work that is done or not done as a whole, by one worker. */
export interface PlannedPiece {
  /** They are made each time that they are read; those of the piece that was read last are kept. Read one piece after the other. */
  readonly tensors: readonly PlannedTensor[];
  /** The same tensors in the old save. */
  readonly sources: readonly SavedTensor[];
  readonly objects: readonly PlannedObject[];
  /** Each file that it writes, and its bytes. */
  readonly files: ReadonlyMap<string, number>;
  /** Chunks of tensors that it reads and writes. */
  readonly chunks: { readonly read: number; readonly written: number };
  /** Bytes of elements and objects that it reads. */
  readonly bytes: number;
}

/** How a save is divided anew. */
export interface ReshardPlan {
  readonly pieces: readonly PlannedPiece[];
  readonly bytes: number;
}

/** What cannot be planned, all of it. */
export class UnplannableSave extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join(' '));
    this.name = 'UnplannableSave';
    this.problems = problems;
  }
}

/** Options of a plan. */
export interface PlanOptions {
  readonly divide: Division;
  /** Bytes of a piece, about. */
  readonly pieceBytes: number;
  readonly crc32: Crc32;
}

/** A piece is what a killed run loses. */
const PIECE_BYTES = 2 ** 31;
/** Each rank has a file of each piece, which should not be tiny. */
const FILE_BYTES = 2 ** 26;

/** Bytes of a piece of a save for so many ranks. */
export function pieceBytesFor(ranks: number): number {
  return Math.max(PIECE_BYTES, ranks * FILE_BYTES);
}

const MOST_PROBLEMS = 8;
/** More than a directory is good for, and more than stores list. */
const MOST_FILES = 500_000;

/**
 * The plan. Pieces are sorted by what they read, the largest first.
 * @throws UnplannableSave with all problems of the save.
 */
export function planReshard({ tensors, objects }: SavedState, options: PlanOptions): ReshardPlan {
  requirePlannable({ tensors, objects });
  const groups = groupsOf(tensors, options.pieceBytes);
  if (groups.length === 0) groups.push([]);
  const lastMade: LastMade = { index: undefined, tensors: [] };
  const pieces = groups.map((group, index) =>
    planPiece({ tensors: group, objects: index === 0 ? objects : [], index }, options, lastMade),
  );
  pieces.sort((one, other) => other.bytes - one.bytes);
  const files = pieces.reduce((sum, piece) => sum + piece.files.size, 0);
  if (files > MOST_FILES)
    throw new UnplannableSave([
      `The new save would have ${String(files)} files, and at most ${String(MOST_FILES)} are written. Name fewer ranks.`,
    ]);
  return { pieces, bytes: pieces.reduce((sum, { bytes }) => sum + bytes, 0) };
}

function requirePlannable({ tensors, objects }: SavedState): void {
  const comparisons = allComparisons();
  const problems: string[] = [];
  for (const tensor of tensors) {
    const problem = problemOf(tensor, comparisons);
    if (problem !== undefined) problems.push(problem);
  }
  for (const { key, item } of objects)
    if (item === undefined) problems.push(`The save does not say where object ${key} is.`);
  if (problems.length > 0) throw new UnplannableSave(problems.slice(0, MOST_PROBLEMS));
}

/** As FSDP1 names them with `StateDictType.LOCAL_STATE_DICT` (torch/distributed/fsdp/_flat_param.py). */
const FLAT_PARAMETER = /(?:^|\.)_flat_param(?:\.|$)/;

/** Why a tensor cannot be read whole, as a whole sentence; undefined: it can. */
export function problemOf({ key, dtype, shape, chunks }: SavedTensor, comparisons: Comparisons): string | undefined {
  if (bytesOfDtype(dtype) === undefined)
    return `Tensor ${key} has the dtype ${dtype}, whose size is not known here. Save it in another dtype.`;
  if (FLAT_PARAMETER.test(key))
    return `Tensor ${key} is a FlatParameter of FSDP1: parameters one after the other, without their names, and padding that depends on the number of ranks. Load it at the number of ranks that saved it, and save it with StateDictType.SHARDED_STATE_DICT, which loads at any number.`;
  const hole = describeCoverage({ key, dtype, shape, chunks }, comparisons);
  if (hole !== undefined) return `Tensor ${key} ${hole}.`;
  if (chunks.some(({ item }) => item === undefined)) return `The save does not say where a chunk of tensor ${key} is.`;
  const changed = chunks.find(({ item }) => (item?.transforms?.length ?? 0) > 0);
  return changed === undefined
    ? undefined
    : `Tensor ${key} is stored changed (${changed.item?.transforms?.[0] ?? ''}), which is not read here. Load it with PyTorch, and save it without this transform.`;
}

/** Tensors in their order, so that those of a layer stay together, in groups of about the same size. */
function groupsOf(tensors: readonly SavedTensor[], pieceBytes: number): SavedTensor[][] {
  const total = tensors.reduce((sum, tensor) => sum + bytesOf(tensor), 0);
  const groupBytes = total / groupCount(total, pieceBytes);
  const groups: SavedTensor[][] = [];
  let [before, last] = [0, -1];
  for (const tensor of tensors) {
    const bytes = bytesOf(tensor);
    const group = Math.floor((before + bytes / 2) / groupBytes);
    if (group > last || groups.length === 0) groups.push([]);
    groups.at(-1)?.push(tensor);
    last = group;
    before += bytes;
  }
  return groups;
}

/** Many groups are a number that usual numbers of workers divide: an equal share for 2, 3, 4, 6, 8, 12, 16, 24 or 48 of them. */
function groupCount(bytes: number, pieceBytes: number): number {
  const count = Math.max(1, Math.floor(bytes / pieceBytes));
  const unit = [48, 12].find((divisor) => count >= divisor) ?? 1;
  return Math.round(count / unit) * unit;
}

function bytesOf({ dtype, shape }: SavedTensor): number {
  return volumeOf(shape) * (bytesOfDtype(dtype) ?? 0);
}

/** What a piece moves. */
interface Group {
  readonly tensors: readonly SavedTensor[];
  readonly objects: readonly SavedObject[];
  /** Its files have this number in their names. */
  readonly index: number;
}

/** The planned tensors that were made last, and their piece. Those of all pieces are millions of objects. */
interface LastMade {
  index: number | undefined;
  tensors: readonly PlannedTensor[];
}

function planPiece(group: Group, options: PlanOptions, lastMade: LastMade): PlannedPiece {
  return {
    ...measured(group, options),
    sources: group.tensors,
    get tensors() {
      if (lastMade.index !== group.index) {
        const placing = new Placing(group, options);
        lastMade.tensors = group.tensors.map((tensor) => placing.place(tensor));
        lastMade.index = group.index;
      }
      return lastMade.tensors;
    },
  };
}

/** What is kept of a piece. It is a function of its own, so that nothing holds a planned tensor once it is measured. */
function measured(group: Group, options: PlanOptions): Pick<PlannedPiece, 'objects' | 'files' | 'chunks' | 'bytes'> {
  const placing = new Placing(group, options);
  const chunks = { read: 0, written: 0 };
  let bytes = group.objects.reduce((sum, { item }) => sum + (item?.length ?? 0), 0);
  for (const tensor of group.tensors) {
    const { sources, targets } = placing.place(tensor);
    chunks.read += sources.length;
    chunks.written += targets.length;
    bytes += bytesOf(tensor);
  }
  return { objects: placing.objects, files: placing.files, chunks, bytes };
}

/** Gives each object and each new chunk of a piece its place, in their order. */
class Placing {
  readonly objects: readonly PlannedObject[];
  readonly #files: RankFiles;
  readonly #archives: ArchiveSizes;
  readonly #divide: Division;

  constructor({ objects, index }: Group, { divide, crc32 }: PlanOptions) {
    this.#files = new RankFiles(index);
    this.#archives = new ArchiveSizes(crc32);
    this.#divide = divide;
    // DCP writes objects before tensors.
    this.objects = objects.map((object) => ({ object, ...this.#files.place(0, object.item?.length ?? 0) }));
  }

  place({ key, dtype, shape, chunks }: SavedTensor): PlannedTensor {
    const targets = this.#divide({ key, shape }).map(({ rank, offsets, sizes }) => {
      const length = this.#archives.bytesOf(dtype, sizes);
      const { file, offset } = this.#files.place(rank, length);
      return { rank, offsets, sizes, file, offset, length };
    });
    return { key, dtype, itemBytes: bytesOfDtype(dtype) ?? 0, shape, sources: chunks, targets };
  }

  get files(): ReadonlyMap<string, number> {
    return this.#files.sizes;
  }
}

/** The files of a piece, one for each rank that stores something of it. */
class RankFiles {
  readonly #piece: string;
  readonly #files = new Map<number, { readonly file: string; bytes: number }>();

  constructor(piece: number) {
    this.#piece = String(piece);
  }

  /** Puts so many bytes behind those that the file of the rank has. */
  place(rank: number, length: number): { readonly file: string; readonly offset: number } {
    let file = this.#files.get(rank);
    if (file === undefined)
      this.#files.set(rank, (file = { file: `__${String(rank)}_${this.#piece}.distcp`, bytes: 0 }));
    const offset = file.bytes;
    file.bytes += length;
    return { file: file.file, offset };
  }

  get sizes(): ReadonlyMap<string, number> {
    return new Map([...this.#files.values()].map(({ file, bytes }) => [file, bytes]));
  }
}

/** Bytes of the archives of chunks. They depend on dtype and sizes alone, and most chunks of a tensor have the sizes of the one before. */
class ArchiveSizes {
  readonly #crc32: Crc32;
  readonly #known = new Map<string, number>();
  #last: { readonly dtype: string; readonly sizes: readonly number[]; readonly bytes: number } | undefined;

  constructor(crc32: Crc32) {
    this.#crc32 = crc32;
  }

  bytesOf(dtype: string, sizes: readonly number[]): number {
    const last = this.#last;
    if (last?.dtype === dtype && isEqual(last.sizes, sizes)) return last.bytes;
    const name = `${dtype} ${sizes.join()}`;
    let bytes = this.#known.get(name);
    if (bytes === undefined) this.#known.set(name, (bytes = this.#measure(dtype, sizes)));
    this.#last = { dtype, sizes, bytes };
    return bytes;
  }

  #measure(dtype: string, sizes: readonly number[]): number {
    const { head, tailBytes } = torchSaveFrame(dtype, sizes, this.#crc32);
    return head.length + volumeOf(sizes) * (bytesOfDtype(dtype) ?? 0) + tailBytes;
  }
}

function isEqual(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((size, dim) => size === other[dim]);
}

/** The pieces of each worker: each piece, the largest first, goes to the worker with the fewest bytes so far. All workers come to the same answer. */
export function sharesOf(
  { pieces }: Pick<ReshardPlan, 'pieces'>,
  workers: number,
): readonly (readonly PlannedPiece[])[] {
  const shares = Array.from({ length: workers }, () => ({ bytes: 0, pieces: [] as PlannedPiece[] }));
  for (const piece of pieces) {
    const share = shares.reduce((least, other) => (other.bytes < least.bytes ? other : least));
    share.pieces.push(piece);
    share.bytes += piece.bytes;
  }
  return shares.map((share) => share.pieces);
}

/** What the new save holds, for its metadata. Chunks of a tensor are made when they are read. */
export function plannedState({ pieces }: ReshardPlan): SavedState {
  return {
    tensors: pieces.flatMap((piece) => piece.sources.map((tensor, at) => plannedTensor(piece, tensor, at))),
    objects: pieces.flatMap(({ objects }) =>
      objects.map(({ object, file, offset }) => ({
        key: object.key,
        item: { file, offset, length: object.item?.length ?? 0 },
      })),
    ),
  };
}

function plannedTensor(piece: PlannedPiece, { key, dtype, shape }: SavedTensor, at: number): SavedTensor {
  return {
    key,
    dtype,
    shape,
    get chunks() {
      const targets = piece.tensors[at]?.targets ?? [];
      return targets.map(({ offsets, sizes, file, offset, length }) => ({
        offsets,
        sizes,
        item: { file, offset, length },
      }));
    },
  };
}
