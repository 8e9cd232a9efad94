/** Renders the length and the rates of training for Megatron-LM. */
import { DEFAULT_MICRO_BATCH_SIZE, stepsOf } from '@coxswain/api-types';
import { rejectRisingRate, WITH_ADAPTERS } from '../training-checks.ts';
import { type Counted, countedBy, rampUpArguments, withGrowthOfArguments } from './ramp-up-arguments.ts';
import { type MegatronJob, byDefault, flag, flagOf, kept, refuse, type RenderedField } from './rendered-field.ts';
import { optimizerOf } from './state-arguments.ts';

type Training = NonNullable<MegatronJob['spec']['training']>;

/** Arguments for the fields of `training`. */
export function trainingArguments(job: MegatronJob): readonly RenderedField[] {
  const training = withGrowthOfArguments(job.spec);
  if (training === undefined) return [];
  const steps = stepsOf({ ...job.spec, training }) ?? 1;
  const counted = countedBy(job, training, steps);
  return [
    ...counted(training.tokens === undefined ? 'training.steps' : 'training.tokens', '--train', steps),
    ...flag('training.globalBatchSize', '--global-batch-size', training.globalBatchSize),
    ...rampUpArguments(job, training),
    ...flag('training.microBatchSize', '--micro-batch-size', training.microBatchSize ?? DEFAULT_MICRO_BATCH_SIZE),
    ...rateArguments(training, steps, counted),
    ...scheduleArguments(training, steps, counted),
    ...flag('training.weightDecay', '--weight-decay', training.weightDecay),
    ...optimizerArguments(job, training.optimizer),
    ...seedArguments(training.seed),
    ...loraArguments(job),
    // The lines of steps are what is known of a rank without a hook.
    ...byDefault('--log-interval', 1),
  ];
}

/** validate_args takes no --min-lr above --lr; the schedule no warm-up that is as long as its decay (optimizer_param_scheduler.py). */
function rateArguments(training: Training, steps: number, counted: Counted): readonly RenderedField[] {
  const { learningRate, minLearningRate, warmupSteps } = training;
  const rise = rejectRisingRate(training);
  if (rise !== undefined) return [{ kind: 'refused', ...rise }];
  if (warmupSteps >= steps)
    return refuse(
      'rate-within-steps',
      'training.warmupSteps',
      `training.warmupSteps ${warmupSteps} are not fewer than the ${steps} steps of the training`,
      `${steps - 1} at most`,
    );
  return [
    ...flag('training.learningRate', '--lr', learningRate),
    ...flag('training.minLearningRate', '--min-lr', minLearningRate),
    ...counted('training.warmupSteps', '--lr-warmup', warmupSteps),
    ...counted('training.steps', '--lr-decay', steps),
  ];
}

function scheduleArguments(
  { schedule, warmupSteps }: Training,
  steps: number,
  counted: Counted,
): readonly RenderedField[] {
  if (schedule === undefined) return [];
  const field = 'training.schedule.name';
  if (schedule.name !== 'wsd') return flag(field, '--lr-decay-style', schedule.name);
  const decaySteps = schedule.decaySteps ?? 0;
  if (warmupSteps + decaySteps > steps)
    return refuse(
      'rate-within-steps',
      'training.schedule.decaySteps',
      `training.warmupSteps ${warmupSteps} and training.schedule.decaySteps ${decaySteps} are more than ${steps} steps`,
      `together they may be ${steps} at most`,
    );
  return [
    ...flag(field, '--lr-decay-style', 'WSD'),
    ...flag('training.schedule.decayStyle', '--lr-wsd-decay-style', WSD_STYLES[schedule.decayStyle ?? 'linear']),
    ...counted('training.schedule.decaySteps', '--lr-wsd-decay', decaySteps),
  ];
}

/** As --lr-wsd-decay-style spells them. */
const WSD_STYLES = { linear: 'linear', cosine: 'cosine', exponential: 'exponential', sqrt: 'minus_sqrt' } as const;

function optimizerArguments(job: MegatronJob, optimizer: Training['optimizer']): readonly RenderedField[] {
  if (optimizer === undefined) return [];
  const field = 'training.optimizer';
  const name = optimizerOf(job) ?? 'adamw';
  const { beta1, beta2, epsilon, momentum, clipNorm } = optimizer;
  const clip = flagOf(`${field}.clipNorm`, '--clip-grad', clipNorm);
  const betas = BETAS[name] ?? {};
  const given = [
    ['beta1', beta1, betas.beta1],
    ['beta2', beta2, betas.beta2],
    ['epsilon', epsilon, betas.epsilon],
    ['momentum', momentum, betas.momentum],
  ] as const;
  return [
    ...clip,
    ...given.flatMap(([word, value, option]) => {
      if (value === undefined) return [];
      if (option !== undefined) return flag(`${field}.${word}`, option, value);
      const why = `${name} of Megatron-LM has no ${word}`;
      return refuse('words-of-the-optimizer', `${field}.${word}`, why, 'leave it out');
    }),
    ...kept(`${field}.name`),
  ];
}

type Numbers = Readonly<Partial<Record<'beta1' | 'beta2' | 'epsilon' | 'momentum', string>>>;

/** Which of the numbers each optimizer has. Muon trains embeddings by Adam, whose numbers are given with its own. */
const ADAM: Numbers = { beta1: '--adam-beta1', beta2: '--adam-beta2', epsilon: '--adam-eps' };
const BETAS: Readonly<Record<string, Numbers>> = {
  adamw: ADAM,
  sgd: { momentum: '--sgd-momentum' },
  lion: { beta1: '--lion-beta1', beta2: '--lion-beta2' },
  muon: { ...ADAM, momentum: '--muon-momentum' },
};

/** Megatron-LM has no adapters; Megatron-Bridge has a section of its configuration for them (lora.ts). */
function loraArguments({ engine, spec }: MegatronJob): readonly RenderedField[] {
  if (spec.training?.lora === undefined) return [];
  if (engine === 'megatron-bridge') return kept('training.lora');
  return refuse('engine-lacks-word', 'training.lora', 'Megatron-LM trains no adapters', WITH_ADAPTERS);
}

/** megatron/training/initialize.py, _set_random_seed. */
function seedArguments(seed: number): readonly RenderedField[] {
  if (seed > 0) return flag('training.seed', '--seed', seed);
  return refuse('seed-is-positive', 'training.seed', 'Megatron-LM takes no seed 0', 'set training.seed to 1 or more');
}
