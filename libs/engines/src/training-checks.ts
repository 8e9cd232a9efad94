/** Refuses fields of a job that contradict each other, for every engine that has both. */
import { type EffectiveSpec, stepsOf } from '@coxswain/api-types';
import type { EngineRefusal } from './engine-refusal.ts';

type Training = NonNullable<EffectiveSpec['training']>;

/** Refuses a minimum learning rate above the learning rate. */
export function rejectRisingRate({ learningRate, minLearningRate }: Training): EngineRefusal | undefined {
  if (minLearningRate <= learningRate) return undefined;
  return {
    rule: 'rate-falls',
    field: 'training.minLearningRate',
    why: `training.minLearningRate ${plain(minLearningRate)} is above training.learningRate ${plain(learningRate)}`,
    fallback: `set it to ${plain(learningRate)} or less, such as a tenth of it`,
  };
}

/** Refuses warm-up and decay steps that exceed the training. A job without a length has no end. */
export function rejectLongSchedule(spec: EffectiveSpec): EngineRefusal | undefined {
  const { warmupSteps = 0, schedule } = spec.training ?? {};
  const steps = stepsOf(spec) ?? Infinity;
  const decaySteps = schedule?.decaySteps ?? 0;
  if (warmupSteps + decaySteps <= steps) return undefined;
  const decay = decaySteps === 0 ? '' : ` and training.schedule.decaySteps ${decaySteps}`;
  return {
    rule: 'rate-within-steps',
    field: 'training.warmupSteps',
    why: `training.warmupSteps ${warmupSteps}${decay} are more than the ${steps} steps of the training`,
    fallback: `together they may be ${steps} at most`,
  };
}

/** Refuses different optimizers in training and layout. */
export function rejectTwoOptimizers({ layout, training }: EffectiveSpec): EngineRefusal | undefined {
  const trained = training?.optimizer?.name;
  const planned = layout.states?.optimizer;
  if (trained === undefined || planned === undefined || trained === planned) return undefined;
  return {
    rule: 'optimizer-is-said-once',
    field: 'layout.states.optimizer',
    why: `layout.states.optimizer ${planned} is not training.optimizer.name ${trained}`,
    fallback: 'leave one of them out',
  };
}

/** Not as 2e-5, which is how JavaScript writes it. */
function plain(rate: number): string {
  return rate.toLocaleString('en-US', { useGrouping: false, maximumSignificantDigits: 6 });
}

/** What to do where an engine trains no adapters. */
export const WITH_ADAPTERS =
  'use engine hugging-face or megatron-bridge, which train adapters, or remove training.lora';

/** What to do where an engine trains with one size of the batch. */
export const WITH_RAMP_UP =
  'use engine megatron-lm or megatron-bridge, which let the batch grow, engine custom, whose program reads it from job.json, or remove training.batchRampUp';

/** The field that such an engine refuses. */
export const RAMP_UP_FIELD = {
  field: 'training.batchRampUp',
  valueOf: ({ training }: EffectiveSpec): unknown => training?.batchRampUp,
  fallback: WITH_RAMP_UP,
} as const;
