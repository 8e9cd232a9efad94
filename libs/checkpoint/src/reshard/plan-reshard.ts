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
  readonly tensors: readonly PlannedTensor[];
  readonly objects: readonly PlannedObject[];
  /** Each file that it writes, and its bytes. */
  readonly files: ReadonlyMap<string, number>;
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

const MOST_PROBLEMS = 8;
/** More than a directory is good for, and more than stores list. */
const MOST_FILES = 500_000;

/**
 * The plan. Pieces are sorted by what they read, the largest first, so workers that take the next one each time end at about the same time.
 * @throws UnplannableSave with all problems of the save.
 */
export function planReshard({ tensors, objects }: SavedState, options: PlanOptions): ReshardPlan {
  const comparisons = allComparisons();
  const problems = [
    ...tensors.flatMap((tensor) => problemsOf(tensor, comparisons)),
    ...objects.flatMap(problemsOfObject),
  ];
  if (problems.length > 0) throw new UnplannableSave(problems.slice(0, MOST_PROBLEMS));
  const groups = groupsOf(tensors, options.pieceBytes);
  if (groups.length === 0) groups.push([]);
  const pieces = groups.map((group, index) => planPiece(group, index === 0 ? objects : [], { ...options, index }));
  pieces.sort((one, other) => other.bytes - one.bytes);
  const files = pieces.reduce((sum, piece) => sum + piece.files.size, 0);
  if (files > MOST_FILES)
    throw new UnplannableSave([
      `The new save would have ${String(files)} files, and at most ${String(MOST_FILES)} are written. Name fewer ranks.`,
    ]);
  return { pieces, bytes: pieces.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Why a tensor cannot be read whole, as whole sentences. */
export function problemsOf(tensor: SavedTensor, comparisons: Comparisons): readonly string[] {
  const { key, dtype, chunks } = tensor;
  if (bytesOfDtype(dtype) === undefined) return [`Tensor ${key} has the dtype ${dtype}, whose size is not known here.`];
  const hole = describeCoverage(tensor, comparisons);
  if (hole !== undefined) return [`Tensor ${key} ${hole}.`];
  if (chunks.some(({ item }) => item === undefined))
    return [`The save does not say where a chunk of tensor ${key} is.`];
  const transforms = chunks.flatMap(({ item }) => item?.transforms ?? []);
  return transforms.length === 0
    ? []
    : [`Tensor ${key} is stored changed (${transforms[0] ?? ''}), which is not read here.`];
}

function problemsOfObject({ key, item }: SavedObject): readonly string[] {
  return item === undefined ? [`The save does not say where object ${key} is.`] : [];
}

/** Tensors in their order, so that those of a layer stay together. */
function groupsOf(tensors: readonly SavedTensor[], pieceBytes: number): SavedTensor[][] {
  const groups: SavedTensor[][] = [];
  let room = 0;
  for (const tensor of tensors) {
    const bytes = bytesOf(tensor);
    if (room < bytes || groups.length === 0) {
      groups.push([]);
      room = pieceBytes;
    }
    groups.at(-1)?.push(tensor);
    room -= bytes;
  }
  return groups;
}

function bytesOf({ dtype, shape }: SavedTensor): number {
  return volumeOf(shape) * (bytesOfDtype(dtype) ?? 0);
}

function planPiece(
  tensors: readonly SavedTensor[],
  objects: readonly SavedObject[],
  { divide, crc32, index }: PlanOptions & { readonly index: number },
): PlannedPiece {
  const files = new Map<string, number>();
  const place = (rank: number, length: number): { readonly file: string; readonly offset: number } => {
    const file = `__${String(rank)}_${String(index)}.distcp`;
    const offset = files.get(file) ?? 0;
    files.set(file, offset + length);
    return { file, offset };
  };
  // DCP writes objects before tensors.
  const planned = objects.map((object) => ({ object, ...place(0, object.item?.length ?? 0) }));
  const frames = new Map<string, number>();
  const archiveBytes = (dtype: string, sizes: readonly number[]): number => {
    const known = `${dtype} ${sizes.join()}`;
    let bytes = frames.get(known);
    if (bytes === undefined) {
      const { head, tailBytes } = torchSaveFrame(dtype, sizes, crc32);
      bytes = head.length + volumeOf(sizes) * (bytesOfDtype(dtype) ?? 0) + tailBytes;
      frames.set(known, bytes);
    }
    return bytes;
  };
  const moved = tensors.map(({ key, dtype, shape, chunks }) => ({
    key,
    dtype,
    itemBytes: bytesOfDtype(dtype) ?? 0,
    shape,
    sources: chunks,
    targets: divide({ key, shape }).map((box) => {
      const length = archiveBytes(dtype, box.sizes);
      return { ...box, ...place(box.rank, length), length };
    }),
  }));
  const bytes =
    tensors.reduce((sum, tensor) => sum + bytesOf(tensor), 0) +
    objects.reduce((sum, { item }) => sum + (item?.length ?? 0), 0);
  return { tensors: moved, objects: planned, files, bytes };
}

/** What the new save holds, for its metadata. */
export function plannedState({ pieces }: ReshardPlan): SavedState {
  return {
    tensors: pieces.flatMap(({ tensors }) =>
      tensors.map(({ key, dtype, shape, targets }) => ({
        key,
        dtype,
        shape,
        chunks: targets.map(({ offsets, sizes, file, offset, length }) => ({
          offsets,
          sizes,
          item: { file, offset, length },
        })),
      })),
    ),
    objects: pieces.flatMap(({ objects }) =>
      objects.map(({ object, file, offset }) => ({
        key: object.key,
        item: { file, offset, length: object.item?.length ?? 0 },
      })),
    ),
  };
}
