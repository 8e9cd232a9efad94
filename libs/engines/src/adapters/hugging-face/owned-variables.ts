/** Which variables does Accelerate read behind the arguments of Trainer, and what of the job says the same? */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { EngineRefusal } from '../../engine-refusal.ts';

/**
 * accelerate 1.15.0, accelerator.py and utils/dataclasses.py: what no argument says is taken from these, so that a job without shards gets FSDP or DeepSpeed, or another
 * batch, without a word. A name that ends in `_` stands for all that begin with it.
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

/** Of the first variable that says what the job does; undefined where there is none. */
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
        why: `${field} holds ${name}, which Accelerate reads where no argument says otherwise, and which ${owner} says`,
        fallback: `leave it out, and set ${owner}`,
      };
    }
  return undefined;
}
