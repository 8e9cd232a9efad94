/** How does a job train? Batch, length, optimizer and learning rate. What is left out is the engine's own choice, where no default stands. */
import { LoraSpec, SequencePacking } from '@coxswain/layout';
import { z } from 'zod';
import { BatchRampUp, isWholeRampUp, stepsOfSamples } from './batch-ramp-up.ts';
import { cel } from './cel.ts';

/** More steps than any training has; a bound for what tokens come to. */
export const MAX_STEPS = 1_000_000_000;

const OPTIMIZERS = ['adamw', 'adam', 'sgd', 'lion', 'lamb', 'adafactor', 'muon'] as const;
const SCHEDULES = ['cosine', 'linear', 'constant', 'wsd'] as const;

const share = z.number().min(0).lt(1);

const OptimizerSpec = z
  .strictObject({
    name: z.enum(OPTIMIZERS).default('adamw').describe('Kind of optimizer.'),
    beta1: share.optional().describe('Of the running mean of gradients.'),
    beta2: share.optional().describe('Of the running mean of their squares.'),
    epsilon: z.number().positive().max(1).optional().describe('Added to the denominator.'),
    momentum: share.optional().describe('Of sgd and muon.'),
    clipNorm: z
      .number()
      .min(0)
      .max(1_000_000)
      .optional()
      .describe('Gradients are scaled down to this global norm. 0: no scaling.'),
  })
  .meta({ id: 'OptimizerSpec' });

const WSD_DECAY = 'decaySteps belongs to schedule wsd, which needs it; the other schedules decay until the last step';

const WSD_STYLE = 'decayStyle belongs to schedule wsd; leave it out';

const LearningRateSchedule = z
  .strictObject({
    name: z
      .enum(SCHEDULES)
      .describe(
        'From learningRate, after warmupSteps, to minLearningRate at the last step: by half a cosine, by a line, not at all, or (wsd) held and then by a line over decaySteps.',
      ),
    decayStyle: z
      .enum(['linear', 'cosine', 'exponential', 'sqrt'])
      .optional()
      .describe('Of wsd: how the rate falls; sqrt is 1 - sqrt. Absent: linear.'),
    decaySteps: z.int().min(1).max(MAX_STEPS).optional().describe('Of wsd: how many of the last steps decay.'),
  })
  .meta({
    id: 'LearningRateSchedule',
    ...cel(
      {
        rule: "(self.name == 'wsd') == has(self.decaySteps)",
        message: WSD_DECAY,
        fieldPath: '.decaySteps',
      },
      { rule: "self.name == 'wsd' || !has(self.decayStyle)", message: WSD_STYLE, fieldPath: '.decayStyle' },
    ),
  })
  .refine(({ name, decayStyle }) => name === 'wsd' || decayStyle === undefined, {
    path: ['decayStyle'],
    message: WSD_STYLE,
  })
  .refine(({ name, decaySteps }) => (name === 'wsd') === (decaySteps !== undefined), {
    path: ['decaySteps'],
    message: WSD_DECAY,
  });

const RAMP_UP =
  'startSize is less than globalBatchSize, and increment divides the difference: the batch must reach globalBatchSize exactly';

const STEPS_OR_TOKENS = 'the length of the training is given in steps or in tokens; give exactly one';

/** How the model is trained: length, batch sizes, optimizer and precision. */
export const TrainingSpec = z
  .strictObject({
    steps: z
      .int()
      .min(1)
      .max(MAX_STEPS)
      .optional()
      .describe('Steps after which the job is complete. Alternative: tokens.'),
    tokens: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        'Alternative to steps: as many steps as process this many tokens; a step has globalBatchSize times sequenceLength tokens.',
      ),
    globalBatchSize: z.int().min(1).max(1_048_576).describe('Samples per step over all data-parallel ranks.'),
    batchRampUp: BatchRampUp.optional().describe(
      'The batch grows to globalBatchSize in the first steps. Predictions are for the full batch. Absent: every step has globalBatchSize.',
    ),
    microBatchSize: z
      .int()
      .min(1)
      .max(65_536)
      .optional()
      .describe(
        'Samples per forward pass of one rank. Absent: 1, or what the planner finds best where it chooses the layout.',
      ),
    optimizer: OptimizerSpec.optional().describe('Absent: the default of the engine; AdamW for engine reference.'),
    schedule: LearningRateSchedule.optional().describe(
      'Absent: the default of the engine; cosine for engine reference.',
    ),
    learningRate: z.number().positive().max(10).default(0.001).describe('Highest learning rate of the schedule.'),
    minLearningRate: z.number().min(0).max(10).default(0.0001).describe('Learning rate at the end of the schedule.'),
    warmupSteps: z.int().min(0).max(1_000_000).default(0).describe('First steps, in which the rate rises from 0.'),
    weightDecay: z.number().min(0).max(10).default(0.1).describe('Weight decay of the optimizer.'),
    seed: z.int().min(0).max(2_147_483_647).default(1234).describe('Seed of all random numbers of the training.'),
    precision: z
      .enum(['fp32', 'bf16'])
      .default('bf16')
      .describe(
        'Number format of weights and activations in the model. Matrix products in fewer bits: layout.kernel.precision.',
      ),
    lora: LoraSpec.optional().describe('Absent: all weights are trained.'),
    packing: SequencePacking.optional().describe(
      'Documents are packed into samples of sequenceLength tokens, and no token attends to another document. Absent: the engine decides, and attention is priced over the whole sample.',
    ),
  })
  .meta({
    id: 'TrainingSpec',
    ...cel(
      { rule: 'has(self.steps) != has(self.tokens)', message: STEPS_OR_TOKENS, fieldPath: '.steps' },
      {
        rule: '!has(self.batchRampUp) || (self.batchRampUp.startSize < self.globalBatchSize && (self.globalBatchSize - self.batchRampUp.startSize) % self.batchRampUp.increment == 0)',
        message: RAMP_UP,
        fieldPath: '.batchRampUp',
      },
    ),
  })
  .refine(isWholeRampUp, { path: ['batchRampUp'], message: RAMP_UP })
  .refine(({ steps, tokens }) => (steps === undefined) !== (tokens === undefined), {
    path: ['steps'],
    message: STEPS_OR_TOKENS,
  });
export type TrainingSpec = z.infer<typeof TrainingSpec>;

/** Steps after which a job is complete, whichever way its length is given; undefined where it is not. */
export function stepsOf(job: {
  readonly training?: Pick<TrainingSpec, 'steps' | 'tokens' | 'globalBatchSize' | 'batchRampUp'> | undefined;
  readonly model?: { readonly sequenceLength: number } | undefined;
}): number | undefined {
  const { training, model } = job;
  if (training?.tokens === undefined) return training?.steps;
  if (model === undefined) return undefined;
  return stepsOfSamples(training, Math.ceil(training.tokens / model.sequenceLength));
}
