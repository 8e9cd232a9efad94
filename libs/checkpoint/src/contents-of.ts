/** What a save holds, in few numbers: what a catalogue shows, and what decides who can load it. */
import { type CheckpointContents, MAX_CONTENT_NAME_CHARACTERS, MAX_DEGREES, MAX_DTYPES } from '@coxswain/api-types';
import { bytesOfDtype } from './read/dtypes.ts';
import type { Sha256 } from './read/save-files.ts';
import {
  type Holds,
  type SavedChunk,
  type SavedFacts,
  type SavedState,
  type SavedTensor,
  type TensorKind,
  volumeOf,
} from './read/saved-state.ts';
import { tensorGroupsOf } from './tensor-groups.ts';
import type { SaveLook } from './verify/verify-save.ts';

/** Moments by the names that Adam, AdamW and SGD of PyTorch, DeepSpeed and Megatron-LM give them. */
const MOMENT = /(?:^|[./])(?:exp_avg|exp_avg_sq|max_exp_avg_sq|momentum_buffer)(?:[./]|$)/;
/** The copy in float32: `fp32` of DeepSpeed; Megatron-LM calls it `param` below `optimizer`. */
const MASTER = /(?:^|[./])(?:master|master_param|fp32|fp32_param)(?:[./]|$)|(?:^|\.)optimizer\.(?:.+\.)?param(?:\.|$)/;
/** All else of an optimizer, such as its steps. */
const OPTIMIZER = /(?:^|[./])(?:optimizer|optimizers|optim)(?:[./]|$)/;
/** State that is neither of the model nor of the optimizer. */
const BESIDE =
  /(?:^|[./])(?:rng_states?|dataloader|data_loader|lr_scheduler|train_state|training|_?extra_state)(?:[./]|$)/;
const DTYPE = /^[a-z]\w*$/;
const DEGREE = /^[A-Za-z][\w.]*$/;
const PRINTABLE = /^[\x20-\x7e]+$/;

/**
 * What the save holds. `geometryHash`: a fresh SHA-256.
 * @returns undefined if its metadata could not be read.
 */
export function contentsOf({ format, state }: SaveLook, geometryHash: Sha256): CheckpointContents | undefined {
  if (state === undefined) return undefined;
  const kinds: Record<TensorKind, { tensors: number; bytes: number }> = {
    parameter: { tensors: 0, bytes: 0 },
    master: { tensors: 0, bytes: 0 },
    moment: { tensors: 0, bytes: 0 },
    other: { tensors: 0, bytes: 0 },
  };
  for (const tensor of state.tensors) {
    const totals = kinds[kindOf(tensor)];
    totals.tensors++;
    totals.bytes = counted(totals.bytes + bytesOf(tensor));
  }
  const { tensors, objects } = state;
  const objectBytes = objects.reduce((sum, { item }) => sum + (item?.length ?? 0), 0);
  const optimizer = holdsOptimizer(state);
  return {
    tensors: tensors.length,
    chunks: tensors.reduce((sum, { chunks }) => sum + chunks.length, 0),
    objects: objects.length,
    bytes: counted(Object.values(kinds).reduce((sum, { bytes }) => sum + bytes, objectBytes)),
    dtypes: dtypesOf(tensors),
    kinds: Object.fromEntries(Object.entries(kinds).filter(([, totals]) => totals.tensors > 0)),
    holds: holdsOf(state, optimizer),
    isResumable: optimizer === true,
    geometry: geometryOf(state, geometryHash),
    ...(tensors.length === 0 ? {} : { tensorGroups: tensorGroupsOf(tensors, kindOf) }),
    ...(isText(format) ? { format } : {}),
    ...boundedFacts(state.facts),
  };
}

/** Whether training can go on from it as it was: it holds the state of an optimizer. undefined: nothing says. */
export function holdsOptimizer(state: SavedState): Holds {
  return state.facts?.holds.optimizer ?? optimizerIn(state);
}

/** What a tensor is for: what its reader says, or else its name. */
export function kindOf({ key, kind }: SavedTensor): TensorKind {
  if (kind !== undefined) return kind;
  if (MOMENT.test(key)) return 'moment';
  if (MASTER.test(key)) return 'master';
  return OPTIMIZER.test(key) || BESIDE.test(key) ? 'other' : 'parameter';
}

/** By names. Files whose content is not read, such as those of Orbax, show an optimizer by their names alone. */
function optimizerIn({ tensors, objects }: SavedState): Holds {
  const isThere =
    tensors.some((tensor) => kindOf(tensor) === 'moment' || OPTIMIZER.test(tensor.key)) ||
    objects.some(({ key }) => OPTIMIZER.test(key));
  return isThere || tensors.length > 0 ? isThere : undefined;
}

function holdsOf({ facts }: SavedState, optimizer: Holds): CheckpointContents['holds'] {
  const { randomStates, dataLoader, scheduler } = facts?.holds ?? {};
  return {
    ...(optimizer === undefined ? {} : { optimizer }),
    ...(randomStates === undefined ? {} : { randomStates }),
    ...(dataLoader === undefined ? {} : { dataLoader }),
    ...(scheduler === undefined ? {} : { scheduler }),
  };
}

/** Of the elements; where the dtype is not known, of what is stored. */
function bytesOf({ shape, dtype, chunks }: SavedTensor): number {
  const size = bytesOfDtype(dtype);
  if (size !== undefined) return counted(volumeOf(shape) * size);
  return counted(chunks.reduce((sum, { item }) => sum + (item?.length ?? 0), 0));
}

/** Shapes of damaged metadata can be beyond any number. */
function counted(bytes: number): number {
  return Math.min(bytes, Number.MAX_SAFE_INTEGER);
}

function dtypesOf(tensors: readonly SavedTensor[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const { dtype } of tensors) {
    const isKnown = counts.has(dtype) || (counts.size < MAX_DTYPES - 1 && isName(dtype, DTYPE));
    const name = isKnown ? dtype : 'other';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}

function isName(text: string, form: RegExp): boolean {
  return text.length <= MAX_CONTENT_NAME_CHARACTERS && form.test(text);
}

/** The order of metadata differs from save to save, and the geometry does not. */
function geometryOf({ tensors }: SavedState, hash: Sha256): string {
  for (const { key, dtype, shape, chunks } of inOrder(tensors, byKey)) {
    hash.update(`${JSON.stringify(key)} ${dtype} ${shape.join()}\n`);
    for (const { offsets, sizes } of inOrder(chunks, byOffsets)) hash.update(`${offsets.join()} ${sizes.join()}\n`);
  }
  return hash.digest('hex');
}

/** Sorts a copy only if it has to: a million chunks mostly come in order. */
function inOrder<T>(items: readonly T[], compare: (one: T, other: T) => number): readonly T[] {
  return items.every((item, index) => index === 0 || compare(items[index - 1] ?? item, item) <= 0)
    ? items
    : items.toSorted(compare);
}

function byKey({ key: one }: SavedTensor, { key: other }: SavedTensor): number {
  return one < other ? -1 : Number(one > other);
}

function byOffsets({ offsets: one }: SavedChunk, { offsets: other }: SavedChunk): number {
  const dim = one.findIndex((offset, index) => offset !== other[index]);
  return dim < 0 ? 0 : (one[dim] ?? 0) - (other[dim] ?? 0);
}

type BoundedFacts = Pick<CheckpointContents, 'step' | 'engineRelease' | 'optimizerSharding' | 'worldSize' | 'degrees'>;

/** Files can say anything: what is no number or printable name is left out. */
function boundedFacts(facts: SavedFacts | undefined): BoundedFacts {
  if (facts === undefined) return {};
  const { step, engineRelease, optimizerSharding, worldSize, degrees } = facts;
  const named = Object.entries(degrees ?? {}).filter(([name, value]) => isName(name, DEGREE) && isCount(value));
  return {
    ...(isCount(step) ? { step } : {}),
    ...(isText(engineRelease) ? { engineRelease } : {}),
    ...(isText(optimizerSharding) ? { optimizerSharding } : {}),
    ...(isCount(worldSize) ? { worldSize } : {}),
    ...(named.length === 0 ? {} : { degrees: Object.fromEntries(named.slice(0, MAX_DEGREES)) }),
  };
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0;
}

function isText(text: string | undefined): text is string {
  return text !== undefined && isName(text, PRINTABLE);
}
