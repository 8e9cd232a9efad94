/** Refuses variables that Accelerate reads behind the arguments of Trainer and that fields of the job set. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { EngineRefusal } from '../../engine-refusal.ts';

/**
 * accelerate 1.15.0, accelerator.py and utils/dataclasses.py. Accelerate takes from these variables what no argument gives,
 * without a message: a job without shards can get FSDP, DeepSpeed or another batch. A name that ends in `_` stands for every
 * name that begins with it.
 */
const OWNERS: readonly (readonly [name: string, owner: string])[] = [
  ['ACCELERATE_USE_FSDP', 'layout.states'],
  ['ACCELERATE_USE_DEEPSPEED', 'layout.states.implementation'],
  ['ACCELERATE_USE_MEGATRON_LM', 'engine.name'],
  ['ACCELERATE_USE_PARALLELISM_CONFIG', 'layout'],
  ['ACCELERATE_DEEPSPEED_', 'layout.states'],
  ['ACCELERATE_MIXED_PRECISION', 'training.precision'],
  ['ACCELERATE_GRADIENT_ACCUMULATION_STEPS', 'training.globalBatchSize'],
  ['ACCELERATE_GRADIENT_CLIPPING', 'training.optimizer.clipNorm'],
  ['PARALLELISM_CONFIG_', 'layout'],
  ['FSDP_VERSION', 'layout.states.implementation'],
  ['FSDP_SHARDING_STRATEGY', 'layout.states.zeroStage'],
  ['FSDP_RESHARD_AFTER_FORWARD', 'layout.states.reshardAfterForward'],
  ['FSDP_OFFLOAD_PARAMS', 'layout.memory.offload'],
  ['FSDP_ACTIVATION_CHECKPOINTING', 'layout.memory.recompute'],
  ['FSDP_STATE_DICT_TYPE', 'checkpoint'],
];

/** The refusal of the first variable that a field of the job sets; undefined if there is none. */
export function variableRefusal({ env = [], secretEnv = [] }: EffectiveSpec['engine']): EngineRefusal | undefined {
  for (const [field, variables] of [
    ['engine.env', env],
    ['engine.secretEnv', secretEnv],
  ] as const)
    for (const { name } of variables) {
      const owner = OWNERS.find(([one]) => (one.endsWith('_') ? name.startsWith(one) : name === one))?.[1];
      if (owner === undefined) continue;
      return {
        rule: 'variable-is-said-by-the-job',
        field,
        why: `${field} holds ${name}, which Accelerate reads if no argument overrides it, and which ${owner} sets`,
        fallback: `leave it out, and set ${owner}`,
      };
    }
  return undefined;
}
