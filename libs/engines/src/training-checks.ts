/** Which words of a job do not go together, whatever the engine? Each adapter asks where its engine has both. */
import { type EffectiveSpec, stepsOf } from '@coxswain/api-types';
import type { EngineRefusal } from './engine-refusal.ts';

type Training = NonNullable<EffectiveSpec['training']>;

/** A learning rate falls from the highest to the lowest. */
export function ratesRise({ learningRate, minLearningRate }: Training): EngineRefusal | undefined {
  if (minLearningRate <= learningRate) return undefined;
  return {
    rule: 'rate-falls',
    field: 'training.minLearningRate',
    why: `training.minLearningRate ${plain(minLearningRate)} is above training.learningRate ${plain(learningRate)}`,
    fallback: `set it to ${plain(learningRate)} or less, such as a tenth of it`,
  };
}

/** Warm-up and the decay of wsd lie within the training, which is without end where the job says no length. */
export function ratesOutlastTraining(spec: EffectiveSpec): EngineRefusal | undefined {
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

/** An optimizer is named by the training or by the layout; both may, alike. */
export function optimizersDiffer({ layout, training }: EffectiveSpec): EngineRefusal | undefined {
  const said = training?.optimizer?.name;
  const planned = layout.states?.optimizer;
  if (said === undefined || planned === undefined || said === planned) return undefined;
  return {
    rule: 'optimizer-is-said-once',
    field: 'layout.states.optimizer',
    why: `layout.states.optimizer ${planned} is not training.optimizer.name ${said}`,
    fallback: 'leave one of them out',
  };
}

/** Not as 2e-5, which is how JavaScript writes it. */
function plain(rate: number): string {
  return rate.toLocaleString('en-US', { useGrouping: false, maximumSignificantDigits: 6 });
}
