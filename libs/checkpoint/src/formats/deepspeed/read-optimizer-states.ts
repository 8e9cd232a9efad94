/** Reads files of optimizer states of ZeRO: one rank's part of float32 weights and of the optimizer's running means. */
import { UnreadableSave } from '../../read/unreadable-save.ts';
import { PickleObject, type PickleValue } from '../pickle/pickle-value.ts';
import { archivedTensor, type ArchivedTensor } from '../torch-save-tensor.ts';
import {
  countOf,
  entriesOf,
  listOf,
  valueAt,
  visit,
  type Visits,
  VISITS_OF_TENSOR,
} from '../torch-save/pickled-state.ts';
import { tensorsOf } from './read-model-states.ts';

/** A part of a parameter in a flat tensor of one rank. */
export interface Fragment {
  readonly name: string;
  readonly start: number;
  readonly count: number;
}

/** The flat tensors of one group of parameters on one rank. */
export interface OptimizerGroup {
  readonly master: ArchivedTensor | undefined;
  /** By their names, such as `exp_avg`. */
  readonly moments: readonly (readonly [name: string, tensor: ArchivedTensor])[];
  readonly step: ArchivedTensor | number | undefined;
  /** undefined: stage 3, which divides each parameter among all ranks. */
  readonly fragments: readonly Fragment[] | undefined;
}

/** What one file of optimizer states says. */
export interface OptimizerStates {
  readonly stage: number | undefined;
  readonly release: string | undefined;
  /** Ranks that share the state; one number for each group. */
  readonly partitions: readonly number[];
  readonly groups: readonly OptimizerGroup[];
  /** Stage 3 within groups of ranks (MiCS), or with groups for each parameter (AutoEP): parts are not those of all ranks. */
  readonly isGrouped: boolean;
}

/**
 * Reads what `torch.save` stored.
 * @throws UnreadableSave if it is something else than optimizer states of ZeRO.
 */
export function readOptimizerStates(value: PickleValue, visits: Visits): OptimizerStates {
  const state = valueAt(value, 'optimizer_state_dict');
  if (state === undefined)
    throw new UnreadableSave('holds no optimizer_state_dict, so it is no file of optimizer states');
  const release = valueAt(state, 'ds_version') ?? valueAt(value, 'ds_version');
  const partitions = valueAt(state, 'partition_count');
  const shard = valueAt(value, 'ds_config', 'zero_optimization', 'mics_shard_size');
  return {
    stage: stageOf(valueAt(state, 'zero_stage')),
    release: typeof release === 'string' ? release : undefined,
    partitions: (Array.isArray(partitions) ? partitions : [partitions]).flatMap((count) => countOf(count) ?? []),
    isGrouped: (countOf(shard) ?? 0) > 0 || valueAt(state, 'ds_zero_partition_groups') !== undefined,
    groups: valueAt(state, 'fp32_flat_groups') === undefined ? dividedFlat(state, visits) : dividedEach(state, visits),
  };
}

/** ZeroStageEnum, as pickled: its class and its number. */
function stageOf(value: PickleValue | undefined): number | undefined {
  return value instanceof PickleObject && Array.isArray(value.args) ? countOf(value.args[0]) : countOf(value);
}

/** Stages 1 and 2: the parameters of a group one after the other, in as many parts as ranks. */
function dividedFlat(state: PickleValue | undefined, visits: Visits): readonly OptimizerGroup[] {
  const mappings = listOf(valueAt(state, 'param_slice_mappings'));
  const states = statesByGroup(valueAt(state, 'base_optimizer_state'), visits);
  return listOf(valueAt(state, 'single_partition_of_fp32_groups')).map((master, at) => ({
    ...optimizerGroup(master, states.get(String(at)), visits),
    fragments: entriesOf(mappings[at], visits).map(([name, address]) => fragmentOf(name, address)),
  }));
}

/** Stage 3: of each parameter one part for each rank. */
function dividedEach(state: PickleValue | undefined, visits: Visits): readonly OptimizerGroup[] {
  const states = statesByGroup(valueAt(state, 'optimizer_state_dict'), visits);
  return listOf(valueAt(state, 'fp32_flat_groups')).map((master, at) => ({
    ...optimizerGroup(master, states.get(String(at)), visits),
    fragments: undefined,
  }));
}

function optimizerGroup(
  master: PickleValue,
  state: PickleValue | undefined,
  visits: Visits,
): Omit<OptimizerGroup, 'fragments'> {
  visit(visits, VISITS_OF_TENSOR);
  const step = valueAt(state, 'step');
  return {
    master: archivedTensor(master),
    moments: tensorsOf(state, visits).filter(([name, { shape }]) => name !== 'step' && shape.length > 0),
    step: step === undefined ? undefined : (countOf(step) ?? archivedTensor(step)),
  };
}

/** Optimizers of PyTorch number their state; an elastic checkpoint has a list of it. */
function statesByGroup(base: PickleValue | undefined, visits: Visits): ReadonlyMap<string, PickleValue> {
  if (Array.isArray(base)) return new Map(base.map((state, at) => [String(at), state]));
  return new Map(entriesOf(valueAt(base, 'state'), visits));
}

/** `fragment_address` of a number of elements and a start: a dataclass, and a named tuple in releases before. */
function fragmentOf(name: string, address: PickleValue): Fragment {
  const [count, start] =
    address instanceof PickleObject && address.state !== undefined
      ? [countOf(valueAt(address.state, 'numel')), countOf(valueAt(address.state, 'start'))]
      : listOf(address instanceof PickleObject ? address.args : null).map(countOf);
  if (count === undefined || start === undefined) throw new UnreadableSave(`does not say where its part of ${name} is`);
  return { name, start, count };
}
