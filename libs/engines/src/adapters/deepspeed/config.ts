/** Renders DeepSpeed's configuration file (deepspeed 0.19.8, runtime/config.py and the classes below it). */
import { DEFAULT_MICRO_BATCH_SIZE, type EffectiveSpec, stepsOf } from '@coxswain/api-types';
import { isUniversal } from '@coxswain/checkpoint';
import { type ParallelLayout, resolveDataOverlaps, resolveZeroStage } from '@coxswain/layout';
import { given, type Json } from '../check.ts';
import { accumulationOf } from '../job-file.ts';

type Section = Readonly<Record<string, Json>>;

const LOG_LINES = 100;
const MAX_STEPS_PER_LINE = 10;

/** The configuration of DeepSpeed for a job. */
export function deepSpeedConfig(spec: EffectiveSpec): Section {
  const { layout, training } = spec;
  const steps = stepsOf(spec) ?? LOG_LINES * MAX_STEPS_PER_LINE;
  return given<Json>({
    // With AutoTP its check of batches counts tensor ranks as data-parallel ones; the other two sizes say the same.
    train_batch_size: layout.tensorParallelDegree === 1 ? training?.globalBatchSize : undefined,
    train_micro_batch_size_per_gpu: training && (training.microBatchSize ?? DEFAULT_MICRO_BATCH_SIZE),
    gradient_accumulation_steps: accumulationOf(spec),
    steps_per_print: Math.min(MAX_STEPS_PER_LINE, Math.ceil(steps / LOG_LINES)),
    gradient_clipping: training?.optimizer?.clipNorm,
    ...precisionOf(spec),
    data_types: gradientsOf(spec),
    optimizer: optimizerOf(spec),
    scheduler: schedulerOf(spec),
    zero_optimization: zeroOf(spec),
    tensor_parallel: layout.tensorParallelDegree === 1 ? undefined : { autotp_size: layout.tensorParallelDegree },
    sequence_parallel_size: (layout.contextParallelDegree ?? 1) === 1 ? undefined : layout.contextParallelDegree,
    pipeline: layout.pipelineParallelDegree === 1 ? undefined : { stages: layout.pipelineParallelDegree },
    expert_parallel: expertsOf(layout),
    activation_checkpointing: recomputeOf(layout),
    checkpoint: isUniversal(layout) ? { load_universal: true } : undefined,
  });
}

/** Gradients have the format of the weights if nothing is said. */
function gradientsOf(spec: EffectiveSpec): Section | undefined {
  const { gradientPrecision } = spec.layout.states ?? {};
  if (gradientPrecision === undefined || gradientPrecision === formatOfWeights(spec)) return undefined;
  return { grad_accum_dtype: gradientPrecision };
}

/** DeepSpeed trains in 32 bits if no precision is given. */
export function formatOfWeights({ layout, training }: EffectiveSpec): string {
  return layout.kernel?.precision ?? training?.precision ?? 'fp32';
}

function precisionOf(spec: EffectiveSpec): Section {
  const precision = formatOfWeights(spec);
  if (precision === 'bf16') return { bf16: { enabled: true } };
  return precision === 'fp16' ? { fp16: { enabled: true } } : {};
}

/** Spelled as DeepSpeed's file spells them. */
export const OPTIMIZERS: Readonly<Record<string, string>> = {
  adamw: 'AdamW',
  adam: 'Adam',
  lamb: 'Lamb',
  lion: 'Lion',
  muon: 'Muon',
};

function optimizerOf({ layout, training }: EffectiveSpec): Section | undefined {
  if (training === undefined) return undefined;
  const optimizer = training.optimizer;
  const name = optimizer?.name ?? layout.states?.optimizer ?? 'adamw';
  const betas =
    optimizer?.beta1 === undefined || optimizer.beta2 === undefined ? undefined : [optimizer.beta1, optimizer.beta2];
  const params = given<Json>({
    lr: training.learningRate,
    weight_decay: training.weightDecay,
    betas,
    eps: optimizer?.epsilon,
    momentum: optimizer?.momentum,
  });
  return { type: OPTIMIZERS[name] ?? name, params };
}

/** deepspeed/runtime/lr_schedules.py. A warm-up of no steps is refused there, and one of a single step is made two. */
function schedulerOf(spec: EffectiveSpec): Section | undefined {
  const { training } = spec;
  const steps = stepsOf(spec);
  if (training?.schedule === undefined || steps === undefined) return undefined;
  const { schedule, learningRate, minLearningRate, warmupSteps } = training;
  const warmup = { warmup_num_steps: Math.max(1, warmupSteps), warmup_type: 'linear' };
  if (schedule.name === 'cosine') {
    const params = { total_num_steps: steps, cos_min_ratio: minLearningRate / learningRate, ...warmup };
    return { type: 'WarmupCosineLR', params };
  }
  const params = { warmup_min_lr: 0, warmup_max_lr: learningRate, ...warmup };
  if (schedule.name === 'constant') return { type: 'WarmupLR', params };
  return { type: 'WarmupDecayLR', params: { total_num_steps: steps, ...params } };
}

/** Also for a layout without a stage: its stage is 0. */
function zeroOf({ layout, engine }: EffectiveSpec): Section {
  const { states, memory } = layout;
  const stage = resolveZeroStage(layout);
  const { overlapGradReduce } = resolveDataOverlaps(engine.name, layout);
  const optimizer = memory?.offload?.find(({ what }) => what === 'optimizer');
  const parameters = memory?.offload?.find(({ what }) => what === 'parameters');
  return given<Json>({
    stage,
    overlap_comm: overlapGradReduce,
    zero_hpz_partition_size: states?.secondaryShardDegree,
    sub_group_size: (optimizer ?? parameters)?.subgroupElements,
    offload_optimizer:
      optimizer &&
      given<Json>({
        device: optimizer.to ?? 'cpu',
        ratio: optimizer.fraction,
        pin_memory: true,
        pipeline_read: optimizer.overlap,
        pipeline_write: optimizer.overlap,
        nvme_path: optimizer.to === 'nvme' ? SCRATCH : undefined,
      }),
    offload_param:
      parameters &&
      given<Json>({
        device: parameters.to ?? 'cpu',
        pin_memory: true,
        nvme_path: parameters.to === 'nvme' ? SCRATCH : undefined,
      }),
  });
}

/** Where a job has room on its node (POD_PATHS.scratch). */
const SCRATCH = '/coxswain/scratch';

/** Whether the experts are layers that DeepSpeed finds in a model (AutoEP), and not MoE layers that the script makes itself. */
export function isAutomatic({ expert }: ParallelLayout): boolean {
  return (
    expert !== undefined &&
    expert.expertParallelDegree > 1 &&
    expert.capacityFactor === undefined &&
    expert.tokenDropOrder === undefined &&
    (expert.expertTensorParallelDegree ?? 1) === 1
  );
}

function expertsOf(layout: ParallelLayout): Section | undefined {
  return isAutomatic(layout)
    ? { enabled: true, autoep_size: layout.expert?.expertParallelDegree ?? 1, expert_tensor_parallel_size: 1 }
    : undefined;
}

/** Read by deepspeed.checkpointing, which the script has to call. */
function recomputeOf({ memory }: ParallelLayout): Section | undefined {
  if (memory?.recompute?.mode !== 'full') return undefined;
  const isOffloaded = memory.offload?.some(({ what }) => what === 'activations') === true;
  return { partition_activations: false, cpu_checkpointing: isOffloaded };
}
