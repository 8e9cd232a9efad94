/** TrainingArguments of a job (transformers 5.23.0, training_args.py). */
import { DEFAULT_MICRO_BATCH_SIZE, type EffectiveSpec, RANK_ENV, stepsOf } from '@coxswain/api-types';
import { given, type Json } from '../check.ts';
import { accumulationOf } from '../job-file.ts';
import { isDeepSpeed, isFsdp } from './refusals.ts';

const LOG_LINES = 100;
const MAX_STEPS_PER_LINE = 10;
/** Where the job keeps no checkpoints, Trainer still wants a directory. */
const NO_SAVE_DIRECTORY = '/tmp/trainer';

/** torch's own, not the fused ones, which CPUs lack. */
const OPTIMIZERS: Readonly<Record<string, string>> = {
  adamw: 'adamw_torch',
  sgd: 'sgd',
  lion: 'lion_32bit',
  adafactor: 'adafactor',
};

/** TrainingArguments for a job. */
export function trainingArguments(spec: EffectiveSpec): Readonly<Record<string, Json>> {
  const { training, checkpoint, layout } = spec;
  const steps = stepsOf(spec);
  const precision = layout.kernel?.precision ?? training?.precision;
  const optimizer = training?.optimizer;
  const isRecomputed = layout.memory?.recompute?.mode === 'full' && !isFsdp(layout);
  return given<Json>({
    output_dir: checkpoint === undefined ? NO_SAVE_DIRECTORY : `$(${RANK_ENV.saveDirectory})`,
    save_strategy: checkpoint === undefined ? 'no' : 'steps',
    save_steps: checkpoint?.everySteps,
    max_steps: steps,
    logging_steps: steps === undefined ? undefined : Math.min(MAX_STEPS_PER_LINE, Math.ceil(steps / LOG_LINES)),
    per_device_train_batch_size: training && (training.microBatchSize ?? DEFAULT_MICRO_BATCH_SIZE),
    gradient_accumulation_steps: accumulationOf(spec),
    learning_rate: training?.learningRate,
    weight_decay: training?.weightDecay,
    warmup_steps: training?.warmupSteps,
    optim:
      training &&
      (isDeepSpeed(layout) ? undefined : OPTIMIZERS[optimizer?.name ?? layout.states?.optimizer ?? 'adamw']),
    optim_args: optimizer?.momentum === undefined ? undefined : `momentum=${optimizer.momentum}`,
    adam_beta1: optimizer?.beta1,
    adam_beta2: optimizer?.beta2,
    adam_epsilon: optimizer?.epsilon,
    max_grad_norm: optimizer?.clipNorm,
    ...scheduleOf(spec),
    seed: training?.seed,
    full_determinism: layout.kernel?.deterministic,
    torch_compile: layout.kernel?.compile === true ? true : undefined,
    bf16: precision === 'bf16' ? true : undefined,
    fp16: precision === 'fp16' ? true : undefined,
    gradient_checkpointing: isRecomputed ? true : undefined,
  });
}

/** transformers/optimization.py: rates that end at a least one have names of their own. */
function scheduleOf(spec: EffectiveSpec): Readonly<Record<string, Json | undefined>> {
  const { training } = spec;
  const steps = stepsOf(spec) ?? 0;
  if (training?.schedule === undefined) return {};
  const { schedule, minLearningRate, learningRate, warmupSteps } = training;
  const least = minLearningRate / learningRate;
  switch (schedule.name) {
    case 'constant':
      return { lr_scheduler_type: 'constant_with_warmup' };
    case 'cosine':
      return { lr_scheduler_type: 'cosine_with_min_lr', lr_scheduler_kwargs: { min_lr: minLearningRate } };
    case 'wsd':
      return falling(least, schedule.decaySteps ?? 1, schedule.decayStyle === 'sqrt' ? '1-sqrt' : schedule.decayStyle);
    case 'linear':
      return falling(least, steps - warmupSteps);
  }
}

/** Held after the warm-up until the last `decaySteps`, in which it falls by a line. */
function falling(least: number, decaySteps: number, style = 'linear'): Readonly<Record<string, Json>> {
  return {
    lr_scheduler_type: 'warmup_stable_decay',
    lr_scheduler_kwargs: { num_decay_steps: decaySteps, min_lr_ratio: least, decay_type: style },
  };
}
