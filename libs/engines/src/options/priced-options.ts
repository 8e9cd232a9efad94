/** Options of engines that set a fact of the layout or of the training. They are read into it, so that the planner prices them. */
import type { EngineName } from '@coxswain/api-types';
import type { Json } from '../adapters/check.ts';

/** The field that an option sets, and the value of the field for the option's value; undefined if the field has no such value. */
export interface PricedOption {
  readonly field: string;
  readonly toField: (value: Json) => unknown;
}

const same = (field: string): PricedOption => ({ field, toField: (value) => value });
const among = (field: string, values: Readonly<Record<string, unknown>>): PricedOption => ({
  field,
  toField: (value) => values[String(value)],
});
/** A switch that stands for one value of a field if it is on. */
const on = (field: string, value: unknown): PricedOption => among(field, { true: value });

const DTYPES = { fp32: 'fp32', bf16: 'bf16', fp16: 'fp16', fp8: 'fp8' };
const OVERLAPS = 'layout.communication';

/** `start increment samples`, or the list of them. */
function rampUpOf(value: Json): unknown {
  const words = Array.isArray(value) ? value : String(value).split(/[\s,]+/);
  const [startSize, increment, samples, ...more] = words.map(Number);
  const isRead = [startSize, increment, samples].every((one) => Number.isInteger(one)) && more.length === 0;
  return isRead ? { startSize, increment, samples } : undefined;
}

const MEGATRON_LM: Readonly<Record<string, PricedOption>> = {
  grad_reduce_in_bf16: on('layout.states.gradientPrecision', 'bf16'),
  accumulate_allreduce_grads_in_fp32: on('layout.states.gradientPrecision', 'fp32'),
  use_precision_aware_optimizer: on('layout.states.precisionAwareOptimizer', true),
  exp_avg_dtype: among('layout.states.optimizerPrecision', DTYPES),
  exp_avg_sq_dtype: among('layout.states.optimizerPrecision', DTYPES),
  use_distributed_optimizer: on('layout.states.implementation', 'distributed-optimizer'),
  use_megatron_fsdp: on('layout.states.implementation', 'megatron-fsdp'),
  overlap_grad_reduce: same(`${OVERLAPS}.overlapGradReduce`),
  overlap_param_gather: same(`${OVERLAPS}.overlapParamGather`),
  tp_comm_overlap: same(`${OVERLAPS}.overlapTensorParallel`),
  overlap_moe_expert_parallel_comm: same(`${OVERLAPS}.overlapExpertParallel`),
  sequence_parallel: same('layout.sequence.sequenceParallel'),
  moe_token_dispatcher_type: among('layout.expert.dispatcher', { allgather: 'allgather', alltoall: 'alltoall' }),
  moe_flex_dispatcher_backend: among('layout.expert.dispatcher', { deepep: 'deepep', hybridep: 'hybridep' }),
  moe_enable_deepep: on('layout.expert.dispatcher', 'deepep'),
  moe_expert_capacity_factor: same('layout.expert.capacityFactor'),
  moe_pad_expert_input_to_capacity: same('layout.expert.padToCapacity'),
  recompute_granularity: among('layout.memory.recompute.mode', { full: 'full', selective: 'selective' }),
  recompute_method: among('layout.memory.recompute.method', { uniform: 'uniform', block: 'block' }),
  recompute_num_layers: same('layout.memory.recompute.layers'),
  recompute_modules: {
    field: 'layout.memory.recompute.modules',
    toField: (value) => (Array.isArray(value) ? value : String(value).split(/\s+/)),
  },
  attention_backend: among('layout.kernel.attention', {
    auto: 'auto',
    flash: 'flash',
    fused: 'fused',
    unfused: 'unfused',
  }),
  deterministic_mode: same('layout.kernel.deterministic'),
  cross_entropy_loss_fusion: same('layout.kernel.fusedLoss'),
  fp8_recipe: among('layout.kernel.scaling', { delayed: 'delayed', tensorwise: 'current' }),
  rampup_batch_size: { field: 'training.batchRampUp', toField: rampUpOf },
  lr_wsd_decay_style: among('training.schedule.decayStyle', {
    linear: 'linear',
    cosine: 'cosine',
    exponential: 'exponential',
    minus_sqrt: 'sqrt',
  }),
};

/** Sections of Megatron-Bridge that hold an option of Megatron-LM by the same name. */
const BRIDGE_SECTIONS = ['model', 'ddp', 'optimizer', 'scheduler', 'mixed_precision', 'comm_overlap'];

const BRIDGE: Readonly<Record<string, PricedOption>> = {
  ...Object.fromEntries(
    BRIDGE_SECTIONS.flatMap((section) =>
      Object.entries(MEGATRON_LM).map(([name, option]) => [`${section}.${name}`, option] as const),
    ),
  ),
  'train.rampup_batch_size': { field: 'training.batchRampUp', toField: rampUpOf },
  ...Object.fromEntries(
    ['mixed_precision', 'ddp'].map((section) => [
      `${section}.grad_reduce_in_fp32`,
      among('layout.states.gradientPrecision', { true: 'fp32', false: 'bf16' }),
    ]),
  ),
};

const DEEPSPEED: Readonly<Record<string, PricedOption>> = {
  'zero_optimization.stage': among('layout.states.zeroStage', { 0: 0, 1: 1, 2: 2, 3: 3 }),
  'data_types.grad_accum_dtype': among('layout.states.gradientPrecision', DTYPES),
  'zero_optimization.overlap_comm': same(`${OVERLAPS}.overlapGradReduce`),
  'zero_optimization.zero_hpz_partition_size': same('layout.states.secondaryShardDegree'),
  'bf16.enabled': on('layout.kernel.precision', 'bf16'),
  'fp16.enabled': on('layout.kernel.precision', 'fp16'),
  gradient_clipping: same('training.optimizer.clipNorm'),
};

const TORCHTITAN: Readonly<Record<string, PricedOption>> = {
  'compile.enable': same('layout.kernel.compile'),
  'parallelism.enable_async_tensor_parallel': same(`${OVERLAPS}.overlapTensorParallel`),
  'compile.enable_async_tensor_parallel': same(`${OVERLAPS}.overlapTensorParallel`),
  'activation_checkpoint.mode': among('layout.memory.recompute.mode', {
    none: 'none',
    full: 'full',
    selective: 'selective',
    memory_budget: 'budget',
  }),
};

const HUGGING_FACE: Readonly<Record<string, PricedOption>> = {
  torch_compile: same('layout.kernel.compile'),
  gradient_checkpointing: among('layout.memory.recompute.mode', { true: 'full', false: 'none' }),
  full_determinism: same('layout.kernel.deterministic'),
  max_grad_norm: same('training.optimizer.clipNorm'),
};

const OF_ENGINE: Readonly<Partial<Record<EngineName, Readonly<Record<string, PricedOption>>>>> = {
  'megatron-lm': MEGATRON_LM,
  'megatron-bridge': BRIDGE,
  deepspeed: DEEPSPEED,
  torchtitan: TORCHTITAN,
  'hugging-face': HUGGING_FACE,
};

/** The fact that an option of an engine sets; undefined if it sets none. Megatron-LM's names may have hyphens. */
export function pricedOption(engine: EngineName, name: string): PricedOption | undefined {
  const options = OF_ENGINE[engine] ?? {};
  const plain = engine === 'megatron-lm' ? name.replace(/^-+/, '').replaceAll('-', '_') : name;
  return Object.hasOwn(options, plain) ? options[plain] : undefined;
}
