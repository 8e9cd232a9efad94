/** Settings that the TOML file and the Python module share, by the dotted names of their options. */
import { type EffectiveSpec, POD_PATHS, stepsOf } from '@coxswain/api-types';
import { SAFETENSORS } from '@coxswain/checkpoint';
import type { ParallelLayout } from '@coxswain/layout';
import { inside } from '../../paths.ts';
import { given, type Json } from '../check.ts';
import { batchOf } from '../micro-batches.ts';
import { dataDegrees } from './data-degrees.ts';
import { pipelineSettings } from './pipeline.ts';

type Settings = Readonly<Record<string, Json>>;

const SECONDS_PER_MINUTE = 60;
/** Above every norm: TorchTitan cannot switch clipping off. */
const NO_CLIPPING = 1e30;
const LOG_LINES = 100;
const MAX_STEPS_PER_LINE = 10;

/** `output` is what the release calls the output layer. */
export function settingsOf(spec: EffectiveSpec, output: string): Settings {
  return {
    ...parallelismSettings(spec.layout),
    ...pipelineSettings(spec, output),
    ...trainingSettings(spec),
    ...scheduleSettings(spec),
    ...kernelSettings(spec.layout),
    ...communicationSettings(spec.layout),
    ...checkpointSettings(spec),
    ...logSettings(spec),
  };
}

const RESHARD = new Map([
  [true, 'always'],
  [false, 'never'],
]);
const BALANCERS = new Map([
  ['head-tail', 'headtail'],
  ['ptrr', 'ptrr'],
]);

function parallelismSettings(layout: ParallelLayout): Settings {
  const { shard, replicate } = dataDegrees(layout);
  const balance = layout.sequence?.causalBalance;
  const reshard = layout.states?.reshardAfterForward;
  return given<Json>({
    'parallelism.tensor_parallel_degree': layout.tensorParallelDegree,
    'parallelism.pipeline_parallel_degree': layout.pipelineParallelDegree,
    'parallelism.context_parallel_degree': layout.contextParallelDegree ?? 1,
    'parallelism.data_parallel_shard_degree': shard,
    'parallelism.data_parallel_replicate_degree': replicate,
    'parallelism.expert_parallel_degree': layout.expert?.expertParallelDegree ?? 1,
    'parallelism.fsdp_reshard_after_forward': reshard === undefined ? undefined : RESHARD.get(reshard),
    'parallelism.context_parallel_load_balancer': balance === undefined ? undefined : (BALANCERS.get(balance) ?? null),
  });
}

function trainingSettings(spec: EffectiveSpec): Settings {
  const { training, model, layout } = spec;
  const batch = batchOf(spec);
  const isPipeline = layout.pipelineParallelDegree > 1;
  const clipNorm = training?.optimizer?.clipNorm;
  const precision = layout.kernel?.precision ?? training?.precision;
  const offload = layout.memory?.offload?.some(({ what }) => what === 'parameters');
  return given<Json>({
    'training.seq_len': model?.sequenceLength,
    'training.steps': stepsOf(spec),
    'training.global_batch_size': batch?.global,
    // A pipeline takes all micro-batches of a step at once.
    'training.local_batch_size': isPipeline ? batch?.perRank : batch?.micro,
    'training.max_norm': clipNorm === 0 ? NO_CLIPPING : clipNorm,
    'training.mixed_precision_param': precision === 'fp32' ? 'float32' : 'bfloat16',
    'training.enable_cpu_offload': offload === true ? true : undefined,
    'debug.seed': training?.seed,
  });
}

/** TorchTitan holds the rate after the warm-up until the last `decay_ratio` of all steps; absent, it decays from there on. */
function scheduleSettings(spec: EffectiveSpec): Settings {
  const { training } = spec;
  if (training === undefined) return {};
  const { schedule, warmupSteps, minLearningRate, learningRate } = training;
  const steps = stepsOf(spec) ?? 1;
  const ratios = { constant: 0, wsd: (schedule?.decaySteps ?? 0) / steps, cosine: undefined, linear: undefined };
  return given<Json>({
    'lr_scheduler.warmup_steps': warmupSteps,
    'lr_scheduler.decay_type': schedule?.decayStyle ?? (schedule?.name === 'cosine' ? 'cosine' : 'linear'),
    'lr_scheduler.decay_ratio': schedule === undefined ? undefined : ratios[schedule.name],
    'lr_scheduler.min_lr_factor': minLearningRate / learningRate,
  });
}

/** Quantized products, budgets and overlapped tensor parallelism exist in compiled models alone. */
function kernelSettings(layout: ParallelLayout): Settings {
  const { kernel, memory, communication } = layout;
  const overlap = communication?.overlapTensorParallel === true;
  const isQuantized = kernel?.precision === 'fp8' || kernel?.precision === 'mxfp8';
  const isCompiled = kernel?.compile === true || overlap || isQuantized || memory?.recompute?.mode === 'budget';
  return given<Json>({
    'compile.enable': isCompiled ? true : undefined,
    'debug.deterministic': kernel?.deterministic,
  });
}

function communicationSettings({ communication }: ParallelLayout): Settings {
  const minutes = communication?.timeoutMinutes;
  if (minutes === undefined) return {};
  const seconds = minutes * SECONDS_PER_MINUTE;
  return { 'comm.init_timeout_seconds': seconds, 'comm.train_timeout_seconds': seconds };
}

/**
 * TorchTitan deletes no checkpoint: the catalogue decides about retention. A job can resume from the last checkpoint, as from
 * every other.
 */
function checkpointSettings({ checkpoint, initialWeights, layout }: EffectiveSpec): Settings {
  const begins = initialWeights === undefined ? undefined : inside(POD_PATHS.initialWeights, initialWeights.path);
  return given<Json>({
    'checkpoint.enable': checkpoint !== undefined || begins !== undefined ? true : undefined,
    'checkpoint.load_only': checkpoint === undefined && begins !== undefined ? true : undefined,
    'checkpoint.interval': checkpoint?.everySteps,
    'checkpoint.last_save_model_only': checkpoint === undefined ? undefined : false,
    'checkpoint.keep_latest_k': checkpoint === undefined ? undefined : 0,
    'checkpoint.async_mode': layout.checkpointPolicy?.asyncSave === true ? 'async' : undefined,
    'checkpoint.initial_load_path': begins,
    'checkpoint.initial_load_in_hf': initialWeights?.format === SAFETENSORS.weights ? true : undefined,
  });
}

/** Each step line synchronises with the device to read the loss. So the job logs a hundred lines, or one in ten steps. */
function logSettings(spec: EffectiveSpec): Settings {
  const steps = stepsOf(spec) ?? LOG_LINES * MAX_STEPS_PER_LINE;
  return {
    'metrics.log_freq': Math.min(MAX_STEPS_PER_LINE, Math.ceil(steps / LOG_LINES)),
    'metrics.disable_color_printing': true,
  };
}
