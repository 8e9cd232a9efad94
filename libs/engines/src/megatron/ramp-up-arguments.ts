/** Renders the growth of the batch. Megatron-LM takes one only where the training is counted in samples (validate_args). */
import { DEFAULT_MICRO_BATCH_SIZE, type EffectiveSpec, isWholeRampUp, samplesOfSteps } from '@coxswain/api-types';
import { type MegatronJob, flag, note, refuse, type RenderedField } from './rendered-field.ts';

type Training = NonNullable<EffectiveSpec['training']>;

const FIELD = 'training.batchRampUp';
const FLAG = '--rampup-batch-size';

/** The training with the growth that `engine.args` give, so that it is counted in samples. */
export function withGrowthOfArguments(spec: EffectiveSpec): Training | undefined {
  const { training, engine } = spec;
  const args = engine.args ?? [];
  const at = args.indexOf(FLAG);
  if (training === undefined || training.batchRampUp !== undefined || at < 0) return training;
  const [startSize = NaN, increment = NaN, samples = NaN] = args.slice(at + 1, at + 4).map(Number);
  const isRead = [startSize, increment, samples].every((one) => Number.isInteger(one) && one > 0);
  return isRead ? { ...training, batchRampUp: { startSize, increment, samples } } : training;
}

/** The option, and its note. */
export function rampUpArguments({ layout }: MegatronJob, training: Training): readonly RenderedField[] {
  const { batchRampUp, microBatchSize = DEFAULT_MICRO_BATCH_SIZE } = training;
  if (batchRampUp === undefined) return [];
  const { startSize, increment, samples } = batchRampUp;
  if (!isWholeRampUp(training))
    return refuse(
      'ramp-up-reaches-batch',
      FIELD,
      `a batch that begins with ${startSize} samples and grows by ${increment} does not reach training.globalBatchSize ${training.globalBatchSize}`,
      'choose an increment that divides the difference of both sizes',
    );
  const together = microBatchSize * layout.dataParallelDegree;
  if (startSize % together !== 0 || increment % together !== 0)
    return refuse(
      'ramp-up-fills-ranks',
      FIELD,
      `${FIELD} begins with ${startSize} samples and grows by ${increment}; each size must be a multiple of training.microBatchSize ${microBatchSize} x layout.dataParallelDegree ${layout.dataParallelDegree}`,
      `use multiples of ${together}`,
    );
  return [
    ...flag(FIELD, FLAG, startSize, increment, samples),
    ...note(FIELD, `the batch grows over the first ${samples} samples; predictions are for the full batch`),
  ];
}

/** Options that count a number of steps: in steps, or in the samples that these steps use where the batch grows. */
export type Counted = (
  field: string,
  option: '--train' | '--lr-decay' | '--lr-warmup' | '--lr-wsd-decay',
  steps: number,
) => readonly RenderedField[];

/** How the steps of a training are counted. Megatron-Bridge counts in steps even where the batch grows (TrainingConfig.finalize). */
export function countedBy({ engine }: MegatronJob, training: Training, allSteps: number): Counted {
  if (training.batchRampUp === undefined || engine === 'megatron-bridge')
    return (field, option, steps) => flag(field, `${option}-iters`, steps);
  const all = samplesOfSteps(training, allSteps);
  // The last steps decay, the first ones warm up.
  return (field, option, steps) =>
    flag(
      field,
      `${option}-samples`,
      option === '--lr-wsd-decay' ? all - samplesOfSteps(training, allSteps - steps) : samplesOfSteps(training, steps),
    );
}
