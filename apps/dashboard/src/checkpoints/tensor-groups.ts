/** Tensors of a checkpoint whose names differ only in numbers, and the chunks that each is divided into. */
import type { TensorGroup } from '@coxswain/api-types';
import { formatCount } from '@coxswain/units';

/** What tensors are for. */
export const TENSOR_KINDS = [
  'parameter',
  'master',
  'moment',
  'other',
] as const satisfies readonly TensorGroup['kind'][];
/** One of {@link TENSOR_KINDS}. */
export type TensorKind = TensorGroup['kind'];

/** Each kind in words. */
export const KIND_WORDS: Readonly<Record<TensorKind, string>> = {
  parameter: 'Parameters',
  master: 'Master copies in float32',
  moment: 'Moments of the optimizer',
  other: 'Other tensors',
};

/** Whether it stands for all tensors that have no group of their own, of whatever dtype and shape. */
export function isRest({ name }: Pick<TensorGroup, 'name'>): boolean {
  return name === '*';
}

/** Number of chunks of each tensor. */
export function chunksOf({ grid }: Pick<TensorGroup, 'grid'>): number {
  return grid.reduce((product, parts) => product * parts, 1);
}

/**
 * Lengths of the chunks of a dimension. Chunks are equal but for the last, as PyTorch divides; if that leaves chunks empty, they differ by one at most. Files
 * may say otherwise: the API has the number of chunks alone.
 */
export function chunkLengths(size: number, parts: number): readonly number[] {
  const most = Math.ceil(size / parts);
  if (most * (parts - 1) < size) {
    return Array.from({ length: parts }, (_, index) => Math.min(most, size - most * index));
  }
  const bounds = Array.from({ length: parts + 1 }, (_, index) => Math.floor((size * index) / parts));
  return bounds.slice(1).map((end, index) => end - (bounds[index] ?? 0));
}

/** The part of each tensor that a chunk holds, as PyTorch writes slices; chunks count from 0, the last dimension first. `[0:1024, 2048:4096]` */
export function sliceOf({ shape, grid }: Pick<TensorGroup, 'shape' | 'grid'>, chunk: number): string {
  let rest = chunk;
  const slices = shape.toReversed().map((size, index) => {
    const parts = grid.at(-1 - index) ?? 1;
    const lengths = chunkLengths(size, parts);
    const place = rest % parts;
    rest = Math.floor(rest / parts);
    const start = lengths.slice(0, place).reduce((sum, length) => sum + length, 0);
    return `${start}:${start + (lengths[place] ?? 0)}`;
  });
  return `[${slices.toReversed().join(', ')}]`;
}

/** `4096 × 1024`; of a single number `one number`. */
export function formatShape(shape: readonly number[]): string {
  return shape.length === 0 ? 'one number' : shape.join(' × ');
}

/** The division of a group, in words. */
export function formatDivision(group: Pick<TensorGroup, 'grid'>): string {
  const chunks = chunksOf(group);
  if (chunks === 1) return 'whole';
  const divided = group.grid.filter((parts) => parts > 1).length;
  return divided === 1 ? formatCount(chunks, 'chunk') : `${formatCount(chunks, 'chunk')} (${group.grid.join(' × ')})`;
}

/** A group, and one chunk of it, in a sentence. */
export function describeChunk(group: TensorGroup, chunk: number | undefined): string {
  const { name, tensors, dtype, shape } = group;
  const each = `${formatCount(tensors, 'tensor')} of ${formatShape(shape)} in ${dtype}`;
  const count = chunksOf(group);
  if (count === 1) return `${name}: ${each}, each saved whole.`;
  if (chunk === undefined) return `${name}: ${each}, each saved as ${formatDivision(group)}.`;
  const part = `chunk ${(chunk + 1).toLocaleString('en')} of ${count.toLocaleString('en')} holds ${sliceOf(group, chunk)}`;
  return `${name}: ${part} of ${tensors === 1 ? 'the tensor' : 'each tensor'}; ${each}.`;
}
