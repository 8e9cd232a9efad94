/** What a job decides by leaving it out: a recipe may have it otherwise, and its layout was planned and checked without. */
import type { MegatronJob } from '../../megatron/rendered-field.ts';
import type { Settings } from './settings.ts';

type Decided = readonly [field: string, settings: Settings];

const OF_LAYOUT: readonly Decided[] = [
  ['layout.rankOrder', { 'dist.use_tp_pp_dp_mapping': false }],
  ['layout.expert.expertParallelDegree', { 'model.expert_model_parallel_size': 1 }],
  ['layout.expert.expertTensorParallelDegree', { 'model.expert_tensor_parallel_size': null }],
  [
    'layout.expert.capacityFactor',
    { 'model.moe_expert_capacity_factor': null, 'model.moe_pad_expert_input_to_capacity': false },
  ],
  ['layout.pipeline.chunksPerRank', { 'model.virtual_pipeline_model_parallel_size': null }],
  ['layout.pipeline.microBatchGroupSize', { 'model.microbatch_group_size_per_vp_stage': null }],
  [
    'layout.pipeline.stages',
    {
      'model.pipeline_model_parallel_layout': null,
      'model.num_layers_in_first_pipeline_stage': null,
      'model.num_layers_in_last_pipeline_stage': null,
    },
  ],
  [
    'layout.pipeline.vocabulary',
    { 'model.account_for_embedding_in_pipeline_split': false, 'model.account_for_loss_in_pipeline_split': false },
  ],
  ['layout.sequence.sequenceParallel', { 'model.sequence_parallel': false }],
  [
    'layout.sequence.contextAlgorithm',
    { 'model.cp_comm_type': null, 'model.hierarchical_context_parallel_sizes': null },
  ],
  [
    'layout.states.implementation',
    {
      'ddp.use_distributed_optimizer': false,
      'optimizer.use_distributed_optimizer': false,
      'ddp.use_megatron_fsdp': false,
      'dist.use_megatron_fsdp': false,
      'dist.use_torch_fsdp2': false,
      'ddp.data_parallel_sharding_strategy': 'no_shard',
    },
  ],
  ['layout.states.optimizerInstances', { 'ddp.num_distributed_optimizer_instances': 1 }],
  [
    'layout.states.precisionAwareOptimizer',
    {
      'optimizer.use_precision_aware_optimizer': false,
      'optimizer.main_grads_dtype': { dtype: 'float32' },
      'optimizer.main_params_dtype': { dtype: 'float32' },
      'optimizer.exp_avg_dtype': { dtype: 'float32' },
      'optimizer.exp_avg_sq_dtype': { dtype: 'float32' },
    },
  ],
  [
    'layout.memory.recompute',
    {
      'model.recompute_granularity': null,
      'model.recompute_modules': null,
      'model.recompute_method': null,
      'model.recompute_num_layers': null,
    },
  ],
  [
    'layout.memory.offload',
    {
      'optimizer.optimizer_cpu_offload': false,
      'optimizer.optimizer_offload_fraction': 0,
      'optimizer.overlap_cpu_optimizer_d2h_h2d': false,
      'model.fine_grained_activation_offloading': false,
      'model.offload_modules': [],
      'model.cpu_offloading': false,
      'model.cpu_offloading_num_layers': 0,
    },
  ],
  ['layout.communication.overlapGradReduce', { 'ddp.overlap_grad_reduce': false }],
  [
    'layout.communication.overlapParamGather',
    { 'ddp.overlap_param_gather': false, 'optimizer.overlap_param_gather': false },
  ],
  ['layout.communication.overlapTensorParallel', { 'model.tp_comm_overlap': false }],
  ['layout.communication.overlapExpertParallel', { 'model.overlap_moe_expert_parallel_comm': false }],
  ['layout.communication.deferEmbeddingGradient', { 'model.defer_embedding_wgrad_compute': false }],
  ['layout.communication.switchReduction', { 'dist.use_sharp': false }],
  ['layout.communication.groupNetwork', { 'dist.nccl_communicator_config_path': null }],
  ['layout.kernel.attention', { 'model.attention_backend': { attention: 'auto' } }],
  ['layout.kernel.deterministic', { 'model.deterministic_mode': false }],
];

/** In steps, whatever a recipe counts in. */
const OF_TRAINING: readonly Decided[] = [
  [
    'training.steps',
    {
      'train.train_samples': null,
      'scheduler.lr_decay_samples': null,
      'scheduler.lr_warmup_samples': 0,
      'scheduler.lr_warmup_fraction': null,
      'scheduler.lr_wsd_decay_samples': null,
      'scheduler.lr_wsd_decay_iters': null,
    },
  ],
  ['training.batchRampUp', { 'train.rampup_batch_size': null }],
  ['training.weightDecay', { 'scheduler.weight_decay_incr_style': 'constant' }],
];

/** The launcher names where to load from; a recipe of Megatron-Bridge saves into the working directory. */
const OF_CHECKPOINT: readonly Decided[] = [
  ['checkpoint', { 'checkpoint.save': null, 'checkpoint.save_interval': null }],
  ['resumeFrom', { 'checkpoint.load': null, 'checkpoint.ckpt_step': null }],
];

/** Nothing of Megatron-LM's command line sets these, or its validation does. */
const OF_DATA: readonly Decided[] = [
  ['data', { 'dataset.blend': null, 'dataset.blend_per_split': null }],
  ['data.tokenizer', { 'tokenizer.tokenizer_model': null }],
];

/** Settings for what the job leaves out, each with its field. They replace what a recipe would set. */
export function decidedBy(job: MegatronJob): readonly Decided[] {
  const { spec } = job;
  return [
    ...OF_LAYOUT,
    ['layout.communication.overlapPipelineTransfers', transfers(job)],
    ['layout.kernel.cudaGraphs', noGraphs(job)],
    ...(spec.training === undefined ? [] : OF_TRAINING),
    ...(spec.data === undefined ? [] : OF_DATA),
    ...OF_CHECKPOINT,
  ];
}

/** Parts of layers were scopes before core_v0.18, which gives experts room for graphs of a whole step. */
function noGraphs({ release }: MegatronJob): Settings {
  if (release.minor < 18) return { 'model.cuda_graph_impl': 'none', 'model.cuda_graph_scope': [] };
  return {
    'model.cuda_graph_impl': 'none',
    'model.cuda_graph_modules': [],
    'model.moe_paged_stash': false,
    'model.moe_expert_rank_capacity_factor': null,
    'model.moe_mlp_glu_interleave_size': null,
  };
}

/**
 * Megatron-LM overlaps them with the interleaved schedule by default, and batches them otherwise. The model of Megatron-Bridge
 * does neither by default.
 */
function transfers({ layout }: MegatronJob): Settings {
  const { chunksPerRank = 1 } = layout.pipeline ?? {};
  const overlap = chunksPerRank > 1 && layout.communication?.overlapPipelineTransfers !== false;
  return {
    'model.overlap_p2p_comm': overlap,
    'model.batch_p2p_comm': layout.pipelineParallelDegree > 1 && !overlap,
  };
}
