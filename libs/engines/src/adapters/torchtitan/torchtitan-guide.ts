import type { EngineGuide } from '../../engine-guide.ts';

const SIZES = 'sizes of the model that the module builds; a flavour up to v0.2.2';

/** The guide of engine `torchtitan`. */
export const TORCHTITAN_GUIDE: EngineGuide = {
  fields: [
    { field: 'layout.tensorParallelDegree', to: 'parallelism.tensor_parallel_degree' },
    { field: 'layout.pipelineParallelDegree', to: 'parallelism.pipeline_parallel_degree' },
    { field: 'layout.contextParallelDegree', to: 'parallelism.context_parallel_degree' },
    {
      field: 'layout.dataParallelDegree',
      to: 'parallelism.data_parallel_replicate_degree, parallelism.data_parallel_shard_degree',
      note: 'shards at zeroStage 3, copies at 0',
    },
    {
      field: 'layout.dataParallelShardDegree',
      to: 'parallelism.data_parallel_shard_degree',
      note: 'times contextParallelDegree, whose ranks shard too',
    },
    { field: 'layout.expert.expertParallelDegree', to: 'parallelism.expert_parallel_degree' },
    { field: 'layout.expert.dispatcher', to: 'moe_comm_backend', note: 'of the model' },
    { field: 'layout.expert.balance', to: 'load_balance_coeff', note: 'of the model' },
    { field: 'layout.pipeline.schedule', to: 'parallelism.pipeline_parallel_schedule' },
    { field: 'layout.pipeline.scheduleFile', to: 'parallelism.pipeline_parallel_schedule_csv' },
    {
      field: 'layout.pipeline.stages',
      to: 'parallelism.module_fqns_per_model_part',
      note: 'always set; as even as possible if absent',
    },
    { field: 'layout.pipeline.chunksPerRank', to: 'parallelism.module_fqns_per_model_part' },
    { field: 'layout.sequence.sequenceParallel', to: 'parallelism.enable_sequence_parallel', note: 'from v0.3.0' },
    { field: 'layout.sequence.causalBalance', to: 'parallelism.context_parallel_load_balancer' },
    {
      field: 'layout.sequence.contextAlgorithm',
      to: 'parallelism.context_parallel_rotate_method',
      note: 'up to v0.2.2; FlexAttention gathers',
    },
    { field: 'layout.states.reshardAfterForward', to: 'parallelism.fsdp_reshard_after_forward' },
    { field: 'layout.memory.recompute', to: 'activation_checkpoint' },
    { field: 'layout.memory.offload', to: 'training.enable_cpu_offload' },
    {
      field: 'layout.communication.overlapTensorParallel',
      to: 'compile.enable_async_tensor_parallel',
      note: 'the model is compiled',
    },
    {
      field: 'layout.communication.timeoutMinutes',
      to: 'comm.init_timeout_seconds, comm.train_timeout_seconds',
      note: 'in seconds',
    },
    {
      field: 'layout.kernel.precision',
      to: 'training.mixed_precision_param',
      note: 'fp8, mxfp8: a converter of the model',
    },
    { field: 'layout.kernel.cudaGraphs', to: 'training.disable_cuda_graphs', note: 'from v0.3.0; off unless full' },
    { field: 'layout.kernel.deterministic', to: 'debug.deterministic' },
    { field: 'layout.checkpointPolicy.asyncSave', to: 'checkpoint.async_mode' },
    { field: 'model', to: 'model_spec', note: SIZES },
    { field: 'model.sequenceLength', to: 'training.seq_len' },
    { field: 'training.steps', to: 'training.steps' },
    { field: 'training.tokens', to: 'training.steps', note: 'as many steps as see so many tokens' },
    { field: 'training.globalBatchSize', to: 'training.global_batch_size' },
    {
      field: 'training.microBatchSize',
      to: 'training.local_batch_size, parallelism.pipeline_parallel_microbatch_size',
      note: 'a pipeline takes all micro-batches of a step as one local batch',
    },
    { field: 'training.optimizer', to: 'optimizer', note: 'Adam or AdamW' },
    { field: 'training.optimizer.clipNorm', to: 'training.max_norm', note: '0: 1e30, which clips nothing' },
    { field: 'training.schedule', to: 'lr_scheduler.decay_type, lr_scheduler.decay_ratio' },
    { field: 'training.learningRate', to: 'optimizer.lr' },
    { field: 'training.minLearningRate', to: 'lr_scheduler.min_lr_factor', note: 'as a share of learningRate' },
    { field: 'training.warmupSteps', to: 'lr_scheduler.warmup_steps' },
    { field: 'training.weightDecay', to: 'optimizer.weight_decay' },
    { field: 'training.seed', to: 'debug.seed' },
    { field: 'training.packing', to: 'its models', note: 'from v0.3.0: attention stays within documents anyway' },
    { field: 'training.precision', to: 'training.mixed_precision_param' },
    {
      field: 'data',
      to: 'dataloader',
      note: 'text, JSON lines, a saved data set or random tokens; JSON lines up to v0.2.2',
    },
    { field: 'data.tokenizer', to: 'hf_assets_path' },
    { field: 'initialWeights', to: 'checkpoint.initial_load_path, checkpoint.initial_load_in_hf' },
    { field: 'checkpoint.everySteps', to: 'checkpoint.interval' },
    { field: 'engine.recipe', to: 'the configuration to begin with', note: 'from v0.3.0' },
    { field: 'engine.args', to: 'appended' },
    {
      field: 'engine.options',
      to: '--section.field=value',
      note: 'what sets a field is read into it; what contradicts one is refused; the rest is not priced',
    },
    { field: 'engine.env', to: 'its environment' },
  ],
  traps: [
    {
      what: 'Ranks outside the last stage print a loss of -1.',
      answer: 'Coxswain adds a note, and reads losses from ranks that have one.',
      source: 'torchtitan 0.3.0, trainer.py; a run with two stages on CPU ranks',
    },
    {
      what: 'Parameters are sharded over context-parallel ranks even where nothing asks for shards.',
      answer: 'Refused unless layout.states.zeroStage is 3.',
      source: 'torchtitan 0.3.0, distributed/full_dtensor.py, resolve_fsdp_mesh',
    },
    {
      what: 'The last checkpoint holds the model alone, and only ten are kept.',
      answer: 'checkpoint.last_save_model_only is set to false, checkpoint.keep_latest_k to 0.',
      source: 'torchtitan 0.3.0, components/checkpointer/base.py',
    },
    {
      what: 'A first stage gets fewer layers than others, as does a last one.',
      answer: 'Coxswain always sets what each stage holds.',
      source: 'torchtitan 0.3.0, config/configs.py, pipeline_parallel_first_stage_less_layers',
    },
    {
      what: 'CUDA graphs are on, and refuse pipelines and most experts at start.',
      answer: 'Off unless layout.kernel.cudaGraphs is full; refused where they go with nothing.',
      source: 'torchtitan 0.3.0, trainer.py, _validate_cuda_graphs',
    },
    {
      what: 'A context-parallel sequence that is no multiple of 128 for each rank fails in the first step.',
      answer: 'Refused by model.sequenceLength.',
      source: 'torchtitan 0.3.0 on two CPU ranks, sequence 128 and 256',
    },
    {
      what: 'A clipping norm of 0 makes every gradient 0.',
      answer: 'training.max_norm is set to 1e30 where clipNorm is 0.',
      source: 'torch.nn.utils.clip_grad_norm_',
    },
  ],
};
