/** What the names of tensors and objects say in saves of Megatron-LM. */
import type { Holds, SavedFacts, SavedState, TensorKind } from '../../read/saved-state.ts';

/** Several optimizers, such as those of dense and of expert parameters, can each have a prefix. */
const OPTIMIZER = /^(?:chained_\d+\.)?optimizer\./;
/** In the order of the model: `optimizer.state.exp_avg.decoder...`; fsdp_dtensor ends with the name of the state. */
const STATE_FIRST =
  /^(?:chained_\d+\.)?optimizer\.state\.(fp32_param|param|master_param|exp_avg|exp_avg_sq|momentum_buffer)\./;
/** In the order of the distributed optimizer's buckets, or of fsdp_dtensor. */
const STATE_LAST = /\.(fp32_param|param|master_param|exp_avg|exp_avg_sq|momentum_buffer)$/;
const BUCKET = /^(?:chained_\d+\.)?optimizer\.distributed\.dp_group_idx_\d+\./;

const KIND_OF_STATE: Readonly<Record<string, TensorKind>> = {
  fp32_param: 'master',
  param: 'master',
  master_param: 'master',
  exp_avg: 'moment',
  exp_avg_sq: 'moment',
  momentum_buffer: 'moment',
};

/** What a tensor is for. */
export function kindOfKey(key: string): TensorKind {
  if (!OPTIMIZER.test(key)) return 'parameter';
  const state = (STATE_FIRST.exec(key) ?? STATE_LAST.exec(key))?.[1];
  return (state === undefined ? undefined : KIND_OF_STATE[state]) ?? 'other';
}

/** How the optimizer is divided, by its names alone; undefined: there is none, or its names do not say. */
export function shardingOfKeys({ tensors }: SavedState): string | undefined {
  if (tensors.some(({ key }) => BUCKET.test(key))) return 'dp_reshardable';
  return tensors.some(({ key }) => STATE_FIRST.test(key)) ? 'fully_reshardable' : undefined;
}

/** What a save of Megatron-LM holds beside parameters. */
export function holdsOf(state: SavedState, hasScheduler: Holds): SavedFacts['holds'] {
  const { tensors, objects } = state;
  return {
    optimizer: [...tensors, ...objects].some(({ key }) => OPTIMIZER.test(key)),
    randomStates: objects.some(({ key }) => /^rng_state(?:\/|\.|$)/.test(key)),
    // Megatron-LM goes on at the number of consumed samples, which is among its arguments.
    dataLoader: undefined,
    scheduler: hasScheduler,
  };
}

/** Whether plain DCP files are a save of Megatron-FSDP: its optimizer has the settings of each parameter by name. */
export function isFsdpDtensor({ objects }: SavedState): boolean {
  return objects.some(({ key }) => /^optimizer\.param_to_group_meta\./.test(key));
}
