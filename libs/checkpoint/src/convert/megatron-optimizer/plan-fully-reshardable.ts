/** Plans how a `torch_dist` save whose optimizer is `dp_reshardable` becomes one that is `fully_reshardable`, which loads at all degrees. It reads metadata alone. */
import { bytesOfDtype } from '../../read/dtypes.ts';
import type { Crc32 } from '../../read/save-files.ts';
import { type Box, type SavedState, type SavedTensor, volumeOf } from '../../read/saved-state.ts';
import { problemOf, UnplannableSave } from '../../reshard/plan-reshard.ts';
import { endOf, placeIn } from '../../reshard/boxes.ts';
import { allComparisons } from '../../verify/coverage.ts';
import { type ConvertedTensor, type SourcePiece, unchangedTensor } from '../converted-tensor.ts';
import type { ConversionPlan, EqualTensors } from '../plan-conversion.ts';
import { type KeptState, torchDistFiles } from '../target-files.ts';
import { readModelParameters } from './model-parameters.ts';
import { MASTER, readBuckets, requireBuckets } from './optimizer-buckets.ts';
import { placeParameters, type StoredParameter } from './place-parameters.ts';
import { BEFORE_LAYERS, BEHIND_LAYERS, REGISTRATION_ORDERS } from './registration-orders.ts';

/** What is asked for. */
export interface ReshardableOptions {
  /** Ranks among which rows are divided. */
  readonly ranks: number;
  readonly crc32: Crc32;
  /** What the save holds beside tensors. */
  readonly kept: KeptState;
}

const MOST_PROBLEMS = 8;
/** Dtypes to which a copy in float32 is rounded, to compare it with the parameter. */
const COMPARED = new Set(['float32', 'bfloat16']);
const WAY_OUT =
  'Load the save at the degrees that saved it with layout.checkpointPolicy.optimizerReshard full, and save once; that save loads at all degrees.';

/**
 * The plan. Each parameter is compared bit by bit with the copy that the optimizer stores of it, before anything is written: so the order of the buckets is proved twice.
 * @throws UnplannableSave if the buckets do not show which parameter each element belongs to.
 */
export function planFullyReshardable(state: SavedState, options: ReshardableOptions): ConversionPlan {
  requireBuckets(state);
  const weights = state.tensors.filter(({ key }) => !key.includes('optimizer.'));
  const optimizer = state.tensors.filter(({ key }) => key.includes('optimizer.'));
  const degrees = degreesOf(state);
  const { model, problems: unclear } = readModelParameters(weights, degrees.tensor);
  const { buffers, problems: unread } = readBuckets(optimizer);
  const comparisons = allComparisons();
  refuse([
    ...state.tensors.flatMap((tensor) => problemOf(tensor, comparisons) ?? []),
    ...strangers(weights),
    ...unread,
    ...unclear,
  ]);
  const stored = placeParameters(model, degrees, buffers);
  if (typeof stored === 'string') throw new UnplannableSave([stored, WAY_OUT]);
  const tensors = weights.map(unchangedTensor);
  const mustBeEqual: EqualTensors[] = [];
  for (const [weight, parts] of Map.groupBy(stored, ({ parameter }) => parameter.tensor)) {
    const cells = cellsOf(weight, parts);
    for (const name of parts[0]?.bucket.states.keys() ?? []) tensors.push(stateTensor(weight, name, cells));
    mustBeEqual.push(equalMaster(weight, cells));
  }
  const target = torchDistFiles(tensors, { ...options, to: 'torch_dist', fileBytes: Infinity, config: undefined });
  return {
    tensors,
    files: target.files,
    bytes: tensors.reduce((sum, { shape, dtype }) => sum + volumeOf(shape) * (bytesOfDtype(dtype) ?? 0), 0),
    mustBeEqual,
    leftBehind: [],
    publish: target.publish,
  };
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new UnplannableSave([...problems.slice(0, MOST_PROBLEMS), WAY_OUT]);
}

function degreesOf({ facts }: SavedState): { readonly tensor: number; readonly pipeline: number } {
  const { tensorParallelDegree: tensor, pipelineParallelDegree: pipeline, ...others } = facts?.degrees ?? {};
  const chunks = others['pipeline.chunksPerRank'] ?? 1;
  if (tensor === undefined || pipeline === undefined)
    throw new UnplannableSave(['The arguments in the save do not say its tensor and pipeline degrees.', WAY_OUT]);
  if (chunks > 1)
    throw new UnplannableSave([
      `The save is of a virtual pipeline (pipeline.chunksPerRank ${String(chunks)}), whose buckets are not read here.`,
      WAY_OUT,
    ]);
  return { tensor, pipeline };
}

/** Parameters whose place of registration no layer spec here says, and dtypes that are not compared. */
function strangers(weights: readonly SavedTensor[]): readonly string[] {
  const inLayers = new Set(REGISTRATION_ORDERS.flatMap(({ layer }) => layer));
  const outside = new Set<string>([...BEFORE_LAYERS, ...BEHIND_LAYERS]);
  return weights.flatMap(({ key, dtype }) => {
    const name = /^decoder\.layers\.(?:\d{1,6}\.)?(.+)$/.exec(key)?.[1];
    if (name === undefined ? !outside.has(key) : !inLayers.has(name))
      return [
        `Tensor ${key} is in no layer spec whose order of parameters is known here (those of GPT without experts).`,
      ];
    return COMPARED.has(dtype)
      ? []
      : [
          `Tensor ${key} has the dtype ${dtype}; only ${[...COMPARED].join(' and ')} are compared with the copy of the optimizer.`,
        ];
  });
}

/** A box of a parameter, and where its elements begin in a bucket. */
interface Cell {
  readonly box: Box;
  readonly stored: StoredParameter;
  readonly at: number;
}

/** The boxes that make up the tensor, by their first index. Of boxes that several ranks hold, the first one counts. */
function cellsOf({ shape }: SavedTensor, parts: readonly StoredParameter[]): ReadonlyMap<number, readonly Cell[]> {
  const cells = new Map<string, Cell>();
  for (const stored of parts) {
    let { at } = stored;
    for (const box of stored.parameter.boxesOfRanks[stored.tensorRank] ?? []) {
      const name = box.offsets.join();
      if (!cells.has(name)) cells.set(name, { box, stored, at });
      at += volumeOf(box.sizes);
    }
  }
  // Layers are the first dim of a tensor of all layers; then one box is found among few.
  const isLayered = [...cells.values()].every(({ box }) => box.sizes[0] === 1) && shape.length > 1;
  return Map.groupBy(cells.values(), ({ box }) => (isLayered ? (box.offsets[0] ?? 0) : ANYWHERE));
}

const ANYWHERE = -1;

function stateTensor(weight: SavedTensor, name: string, cells: ReadonlyMap<number, readonly Cell[]>): ConvertedTensor {
  const sources = new Map(
    [...cells.values()].flat().map(({ stored: { bucket } }) => [bucket, bucket.states.get(name)]),
  );
  const dtype = [...sources.values()][0]?.dtype ?? '';
  return {
    key: `optimizer.state.${name}.${weight.key}`,
    dtype,
    sourceDtype: dtype,
    shape: weight.shape,
    sources: [...sources.values()].filter((source) => source !== undefined),
    pieces: (from, to) => piecesOf(weight.shape, { from, to }, cells, (cell) => sources.get(cell.stored.bucket)),
  };
}

function equalMaster(weight: SavedTensor, cells: ReadonlyMap<number, readonly Cell[]>): EqualTensors {
  const master = stateTensor(weight, MASTER, cells);
  return {
    one: { ...master, dtype: weight.dtype },
    other: unchangedTensor(weight),
    refusal: `Parameter ${weight.key} differs from the copy in the buckets of the optimizer, so the buckets have another order than their sizes show, or the two are of different steps. ${WAY_OUT}`,
  };
}

/** Elements that follow each other in the tensor and in a bucket. */
function* piecesOf(
  shape: readonly number[],
  { from, to }: { readonly from: number; readonly to: number },
  cells: ReadonlyMap<number, readonly Cell[]>,
  sourceOf: (cell: Cell) => SavedTensor | undefined,
): Generator<SourcePiece> {
  for (let at = from; at < to;) {
    const index = indexOf(shape, at);
    const cell = (cells.get(index[0] ?? 0) ?? cells.get(ANYWHERE))?.find(({ box }) => isIn(box, index));
    const source = cell === undefined ? undefined : sourceOf(cell);
    if (cell === undefined || source === undefined) throw new RangeError('a parameter has a hole');
    const length = Math.min(to - at, runLength(cell.box, shape, index));
    yield { source, from: cell.at + placeIn(cell.box, index), to: at, length };
    at += length;
  }
}

function indexOf(shape: readonly number[], at: number): readonly number[] {
  let rest = at;
  const index = new Array<number>(shape.length).fill(0);
  for (let dim = shape.length - 1; dim >= 0; dim--) {
    const size = shape[dim] ?? 1;
    index[dim] = rest % size;
    rest = Math.floor(rest / size);
  }
  return index;
}

function isIn(box: Box, index: readonly number[]): boolean {
  return index.every((each, dim) => each >= (box.offsets[dim] ?? 0) && each < endOf(box, dim));
}

/** Elements from `index` on that follow each other in the tensor and in the box. */
function runLength(box: Box, shape: readonly number[], index: readonly number[]): number {
  let inner = 1;
  let passed = 0;
  for (let dim = shape.length - 1; dim >= 0; dim--) {
    passed += ((index[dim] ?? 0) - (box.offsets[dim] ?? 0)) * inner;
    inner *= box.sizes[dim] ?? 1;
    // Beyond a dim that the box has only in part, the tensor continues elsewhere.
    if (box.sizes[dim] !== shape[dim]) break;
  }
  return Math.max(1, inner - passed);
}
