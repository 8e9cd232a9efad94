/** The state of ZeRO's optimizer as tensors: for each parameter its float32 copy and its running means, in parts of several ranks. */
import type { Reading } from '../../read/save-files.ts';
import { type SavedChunk, type SavedTensor, type TensorKind, volumeOf } from '../../read/saved-state.ts';
import { type UnreadableFile, UnreadableSave } from '../../read/unreadable-save.ts';
import type { ArchivedTensor } from '../torch-save-tensor.ts';
import type { DeepspeedFiles, ModelFile, OptimizerFile } from './read-save.ts';
import type { Fragment, OptimizerGroup } from './read-optimizer-states.ts';

/** What the optimizers of a save hold. */
export interface DividedState {
  /** Flat: ZeRO divides parameters without regard to their dims. */
  readonly tensors: readonly SavedTensor[];
  /** Each message continues a sentence that starts with the file. */
  readonly unreadable: readonly UnreadableFile[];
}

/** So many parts are listed; of a larger save each tensor is listed as one part whose place is not said. */
const MAX_PARTS = 500_000;

interface OpenTensor {
  readonly key: string;
  readonly dtype: string;
  readonly kind: TensorKind;
  readonly elements: number | undefined;
  readonly chunks: SavedChunk[];
  end: number;
}

/** Joins the parts of all ranks. `dataRanks`: ranks that share the state. */
export function* joinDividedState({ models, optimizers }: DeepspeedFiles, dataRanks: number): Reading<DividedState> {
  const tensors = new Map<string, OpenTensor>();
  const unreadable: UnreadableFile[] = [];
  const isDivided = optimizers.some(({ mp }) => mp > 0);
  const parts = optimizers.reduce((sum, { states, mp }) => sum + partsOf(states.groups, modelOf(models, mp)), 0);
  const isGrouped = optimizers.some(({ states }) => states.isGrouped);
  for (const file of isGrouped ? [] : optimizers.toSorted((one, other) => one.dp - other.dp)) {
    const prefix = prefixOf(file.mp, isDivided);
    try {
      yield* addFile(tensors, {
        file,
        model: modelOf(models, file.mp),
        dataRanks,
        prefix,
        isListed: parts <= MAX_PARTS,
      });
    } catch (error) {
      if (!(error instanceof UnreadableSave)) throw error;
      unreadable.push({ path: file.path, error });
    }
  }
  if (optimizers.length > 0 && !isGrouped) addMissing(tensors, models, isDivided);
  yield* addFrozen(tensors, models, dataRanks, unreadable);
  return { unreadable, tensors: [...tensors.values()].map(closed) };
}

/** Ranks number their experts from 0 on: parameters of several experts have one name, and nothing joins them. */
function isExpert(name: string): boolean {
  return name.includes('.deepspeed_experts.');
}

/** A parameter whose float32 copy no rank has is a tensor without parts. */
function addMissing(tensors: Map<string, OpenTensor>, models: readonly ModelFile[], isDivided: boolean): void {
  for (const { mp, states } of models) {
    for (const [name, shape] of states.shapes ?? []) {
      const key = `${prefixOf(mp, isDivided)}fp32.${name}`;
      if (!tensors.has(key) && !isExpert(name))
        tensors.set(key, { key, dtype: 'float32', kind: 'master', elements: volumeOf(shape), chunks: [], end: 0 });
    }
  }
}

/** In stage 3 each rank has a part of each parameter that is not trained. In other stages the module has them whole. */
function* addFrozen(
  tensors: Map<string, OpenTensor>,
  models: readonly ModelFile[],
  dataRanks: number,
  unreadable: UnreadableFile[],
): Reading<void> {
  const isDivided = models.some(({ mp }) => mp > 0);
  for (const { path, mp, dp, states, places } of models.toSorted((one, other) => one.dp - other.dp)) {
    const whole = new Set(states.tensors.filter(([, { shape }]) => volumeOf(shape) > 0).map(([name]) => name));
    for (const [name, { shape, part }] of states.frozen) {
      const elements = volumeOf(shape);
      const count = countOfRank(elements, dp, dataRanks);
      if (part === undefined || count === 0 || whole.has(name)) continue;
      const key = `${prefixOf(mp, isDivided)}module.${name}`;
      const open = tensors.get(key) ?? { key, dtype: part.dtype, kind: 'parameter', elements, chunks: [], end: 0 };
      tensors.set(key, open);
      try {
        open.chunks.push({
          offsets: [open.end],
          sizes: [count],
          item: yield* places.itemOf(part, key, { from: 0, count }),
        });
      } catch (error) {
        if (!(error instanceof UnreadableSave)) throw error;
        unreadable.push({ path, error });
      }
      open.end += count;
    }
  }
}

/** Elements of a parameter that a rank of stage 3 has: as many as the others, and the last ones fewer. */
function countOfRank(elements: number, dp: number, dataRanks: number): number {
  const part = Math.ceil(elements / dataRanks);
  return Math.max(0, Math.min(part, elements - dp * part));
}

function prefixOf(mp: number, isDivided: boolean): string {
  return isDivided ? `mp_rank_${String(mp).padStart(2, '0')}.` : '';
}

function modelOf(models: readonly ModelFile[], mp: number): ModelFile | undefined {
  return models.find((model) => model.mp === mp && model.states.shapes !== undefined);
}

function partsOf(groups: readonly OptimizerGroup[], model: ModelFile | undefined): number {
  return groups.reduce(
    (sum, { fragments, moments }) =>
      sum + (fragments?.length ?? model?.states.shapes?.size ?? 0) * (moments.length + 1),
    0,
  );
}

function closed({ key, dtype, kind, elements, chunks, end }: OpenTensor): SavedTensor {
  const unlisted = chunks.length === 0 && end > 0 ? [{ offsets: [0], sizes: [end], item: undefined }] : chunks;
  return { key, dtype, kind, shape: [elements ?? end], chunks: unlisted };
}

interface FileToAdd {
  readonly file: OptimizerFile;
  readonly model: ModelFile | undefined;
  readonly dataRanks: number;
  readonly prefix: string;
  readonly isListed: boolean;
}

function* addFile(tensors: Map<string, OpenTensor>, added: FileToAdd): Reading<void> {
  const { groups } = added.file.states;
  for (const group of groups)
    if (group.fragments !== undefined) yield* addGroup(tensors, added, group, group.fragments);
  const each = groups.filter(({ fragments }) => fragments === undefined);
  if (each.length > 0) yield* addEach(tensors, added, each);
}

/** Stages 1 and 2: what the rank has of each parameter. */
function* addGroup(
  tensors: Map<string, OpenTensor>,
  added: FileToAdd,
  group: OptimizerGroup,
  fragments: readonly Fragment[],
): Reading<void> {
  for (const [state, flat] of flatTensors(group)) {
    for (const { name, start, count } of fragments) {
      if (count === 0) continue;
      yield* addPart(tensors, added, { state, flat, name, start, count });
    }
  }
}

/**
 * Stage 3: of each parameter the same number of elements, the last rank's padded; groups of the flat tensors follow each other
 * (deepspeed/utils/zero_to_fp32.py, `_zero3_merge_trainable_params`).
 */
function* addEach(
  tensors: Map<string, OpenTensor>,
  added: FileToAdd,
  groups: readonly OptimizerGroup[],
): Reading<void> {
  const { file, model, dataRanks } = added;
  const shapes = [...(model?.states.shapes ?? [])];
  for (const state of new Set(groups.flatMap((group) => flatTensors(group).map(([name]) => name)))) {
    const flats = groups.map((group) => flatTensors(group).find(([name]) => name === state)?.[1]);
    let at = 0;
    let before = 0;
    let index = 0;
    for (const [name, shape] of shapes) {
      const elements = volumeOf(shape);
      const part = Math.ceil(elements / dataRanks);
      for (; index < flats.length && at >= before + sizeOf(flats[index]); index++) before += sizeOf(flats[index]);
      const flat = flats[index];
      const count = countOfRank(elements, file.dp, dataRanks);
      if (flat === undefined || at + part > before + sizeOf(flat))
        throw new UnreadableSave(
          `holds ${String(flats.reduce((sum, each) => sum + sizeOf(each), 0))} elements of ${state}, too few for the parameters up to ${name}`,
        );
      if (count > 0) yield* addPart(tensors, added, { state, flat, name, start: at - before, count });
      at += part;
    }
    const all = flats.reduce((sum, flat) => sum + sizeOf(flat), 0);
    if (shapes.length > 0 && at !== all)
      throw new UnreadableSave(`holds ${String(all)} elements of ${state}, and the parameters need ${String(at)}`);
  }
}

function sizeOf(flat: ArchivedTensor | undefined): number {
  return flat === undefined ? 0 : volumeOf(flat.shape);
}

function flatTensors({ master, moments }: OptimizerGroup): readonly (readonly [state: string, flat: ArchivedTensor])[] {
  return master === undefined ? moments : [['fp32', master], ...moments];
}

interface Part {
  readonly state: string;
  readonly flat: ArchivedTensor;
  readonly name: string;
  readonly start: number;
  readonly count: number;
}

function* addPart(
  tensors: Map<string, OpenTensor>,
  { file, model, prefix, isListed }: FileToAdd,
  { state, flat, name, start, count }: Part,
): Reading<void> {
  const isOfRank = isExpert(name);
  const key = `${prefix}${isOfRank ? `zero_pp_rank_${String(file.dp)}.` : ''}${state}.${name}`;
  const shape = isOfRank ? undefined : model?.states.shapes?.get(name);
  const elements = shape === undefined ? undefined : volumeOf(shape);
  const open = tensors.get(key) ?? {
    key,
    dtype: flat.dtype,
    kind: state === 'fp32' ? 'master' : 'moment',
    elements,
    chunks: [],
    end: 0,
  };
  tensors.set(key, open);
  if (open.dtype !== flat.dtype)
    throw new UnreadableSave(`holds ${key} as ${flat.dtype}, and another rank as ${open.dtype}`);
  if (state === 'fp32' && flat.dtype !== 'float32')
    throw new UnreadableSave(`holds the float32 copy of ${name} as ${flat.dtype}`);
  if (isListed) {
    const item = yield* file.places.itemOf(flat, key, { from: start, count });
    open.chunks.push({ offsets: [open.end], sizes: [count], item });
  }
  open.end += count;
}
