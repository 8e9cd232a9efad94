/** The tensors of a save in few lines: tensors whose names differ only in numbers are one group. */
import {
  MAX_CONTENT_NAME_CHARACTERS,
  MAX_GROUP_DIMS,
  MAX_GROUP_NAME_CHARACTERS,
  MAX_TENSOR_GROUPS,
  MAX_TENSOR_GROUPS_BYTES,
  OTHER_TENSORS,
  type TensorGroup,
} from '@coxswain/api-types';
import { type SavedTensor, type TensorKind, volumeOf } from './read/saved-state.ts';

/** A number that is a word of its own: that of a layer or an expert, not that of `w1`, `fp32` or `exp_avg_sq2`. */
const NUMBER = /(?<![A-Za-z0-9])\d+(?![A-Za-z0-9])/g;
const DTYPE = /^[a-z]\w*$/;
/** More runs of numbers than these are shown as one, from the first to the last. */
const MAX_RUNS = 4;

interface OpenGroup {
  readonly identity: string;
  /** What stands between the numbers of the name. */
  readonly parts: readonly string[];
  /** At each place of a number, those that occur. */
  readonly numbers: readonly Set<string>[];
  readonly first: SavedTensor;
  readonly grid: readonly number[];
  readonly kind: TensorKind;
  tensors: number;
}

/**
 * Groups of tensors, ordered by name. Each tensor is in exactly one. If they would be too many, the groups with the fewest elements are one, `*`. The order of
 * the tensors does not matter.
 */
export function tensorGroupsOf(
  tensors: readonly SavedTensor[],
  kindOf: (tensor: SavedTensor) => TensorKind,
): TensorGroup[] {
  const groups = [...grouped(tensors, kindOf)].toSorted(
    (one, other) => elementsOf(other) - elementsOf(one) || (one.identity < other.identity ? -1 : 1),
  );
  let kept = groups.length <= MAX_TENSOR_GROUPS ? groups.length : MAX_TENSOR_GROUPS - 1;
  const shown = groups.slice(0, kept).map(toTensorGroup);
  const sizes = shown.map((group) => JSON.stringify(group).length + 1);
  let bytes = sizes.reduce((sum, size) => sum + size, ROOM_FOR_OTHERS);
  while (bytes > MAX_TENSOR_GROUPS_BYTES) bytes -= sizes[--kept] ?? 0;
  const others = groups.slice(kept).reduce((sum, group) => sum + group.tensors, 0);
  const sorted = shown
    .slice(0, kept)
    .toSorted((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)));
  return others === 0 ? sorted : [...sorted, { ...OTHERS, tensors: others }];
}

const OTHERS: Omit<TensorGroup, 'tensors'> = {
  name: OTHER_TENSORS,
  dtype: 'various',
  shape: [],
  grid: [],
  kind: 'other',
};
/** With the brackets around all. */
const ROOM_FOR_OTHERS = JSON.stringify({ ...OTHERS, tensors: Number.MAX_SAFE_INTEGER }).length + 2;

function grouped(tensors: readonly SavedTensor[], kindOf: (tensor: SavedTensor) => TensorKind): Iterable<OpenGroup> {
  const groups = new Map<string, OpenGroup>();
  for (const tensor of tensors) {
    const parts = tensor.key.split(NUMBER);
    const numbers = tensor.key.match(NUMBER) ?? [];
    const [grid, kind] = [gridOf(tensor), kindOf(tensor)];
    const identity = JSON.stringify([parts, tensor.dtype, tensor.shape, grid, kind]);
    let group = groups.get(identity);
    if (group === undefined) {
      group = { identity, parts, numbers: numbers.map(() => new Set()), first: tensor, grid, kind, tensors: 0 };
      groups.set(identity, group);
    }
    group.tensors++;
    numbers.forEach((number, place) => group.numbers[place]?.add(number));
  }
  return groups.values();
}

/** Chunks along each dim. */
function gridOf({ shape, chunks }: SavedTensor): readonly number[] {
  if (chunks.length <= 1) return shape.map(() => 1);
  const offsets = shape.map(() => new Set<number>());
  for (const chunk of chunks) offsets.forEach((seen, dim) => seen.add(chunk.offsets[dim] ?? 0));
  return offsets.map(({ size }) => size);
}

function elementsOf({ first, tensors }: OpenGroup): number {
  const elements = tensors * volumeOf(first.shape);
  // Of shapes that are beyond any number.
  return Number.isNaN(elements) ? 0 : elements;
}

function toTensorGroup({ parts, numbers, first, grid, kind, tensors }: OpenGroup): TensorGroup {
  const name = parts.map((part, place) => `${part}${describeNumbers(numbers[place])}`).join('');
  return {
    name: bounded(name.replace(/[^\x20-\x7e]/g, '?'), MAX_GROUP_NAME_CHARACTERS),
    tensors,
    dtype: DTYPE.test(first.dtype) && first.dtype.length <= MAX_CONTENT_NAME_CHARACTERS ? first.dtype : 'other',
    shape: numbersOf(first.shape),
    grid: numbersOf(grid),
    kind,
  };
}

function bounded(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 3)}...`;
}

/** Files can say anything. */
function numbersOf(values: readonly number[]): number[] {
  return values
    .slice(0, MAX_GROUP_DIMS)
    .map((value) => (Number.isSafeInteger(value) && value >= 0 ? value : Number.MAX_SAFE_INTEGER));
}

/** `7`, `{0..79}`, or `{0..3,8}`. */
function describeNumbers(numbers: ReadonlySet<string> | undefined): string {
  if (numbers === undefined) return '';
  const sorted = [...numbers].toSorted(byNumber);
  const [first = '', last = ''] = [sorted[0], sorted.at(-1)];
  if (sorted.length === 1) return first;
  const runs: [string, string][] = [];
  for (const number of sorted) {
    const run = runs.at(-1);
    if (run !== undefined && Number(number) === Number(run[1]) + 1) run[1] = number;
    else runs.push([number, number]);
  }
  const shown = runs.length > MAX_RUNS ? [[first, last] as const] : runs;
  return `{${shown.map(([from, to]) => (from === to ? from : `${from}..${to}`)).join(',')}}`;
}

/** Also numbers with zeros before them, or beyond what is exact. */
function byNumber(one: string, other: string): number {
  const [a, b] = [one.replace(/^0+(?=\d)/, ''), other.replace(/^0+(?=\d)/, '')];
  if (a.length !== b.length) return a.length - b.length;
  if (a !== b) return a < b ? -1 : 1;
  return one.length - other.length;
}
