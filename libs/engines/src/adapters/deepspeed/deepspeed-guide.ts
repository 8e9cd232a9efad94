import type { EngineGuide } from '../../engine-guide.ts';

/** The guide of engine `deepspeed`. */
export const DEEPSPEED_GUIDE: EngineGuide = {
  fields: [
    { field: 'engine.command', to: 'the program', note: 'its arguments can hold placeholders, as for custom' },
    { field: 'layout.tensorParallelDegree', to: 'tensor_parallel.autotp_size' },
    { field: 'layout.pipelineParallelDegree', to: 'pipeline.stages', note: 'the script makes the PipelineModule' },
    { field: 'layout.dataParallelDegree', to: 'gradient_accumulation_steps', note: 'follows from the number of ranks' },
    { field: 'layout.contextParallelDegree', to: 'sequence_parallel_size', note: 'Ulysses' },
    {
      field: 'layout.expert.expertParallelDegree',
      to: 'expert_parallel.autoep_size',
      note: 'MoE layers of the script: job.json',
    },
    { field: 'layout.states.zeroStage', to: 'zero_optimization.stage' },
    { field: 'layout.states.secondaryShardDegree', to: 'zero_optimization.zero_hpz_partition_size' },
    { field: 'layout.states.optimizer', to: 'optimizer.type' },
    { field: 'layout.states.gradientPrecision', to: 'data_types.grad_accum_dtype', note: 'fp32 beside bf16' },
    { field: 'layout.memory.offload', to: 'zero_optimization.offload_optimizer, zero_optimization.offload_param' },
    { field: 'layout.memory.offload.fraction', to: 'zero_optimization.offload_optimizer.ratio' },
    { field: 'layout.memory.offload.subgroupElements', to: 'zero_optimization.sub_group_size' },
    {
      field: 'layout.memory.recompute',
      to: 'activation_checkpointing',
      note: 'the script calls deepspeed.checkpointing',
    },
    { field: 'layout.communication.overlapGradReduce', to: 'zero_optimization.overlap_comm' },
    { field: 'layout.communication.overlapParamGather', to: 'zero_optimization.overlap_comm' },
    { field: 'layout.communication.timeoutMinutes', to: 'DEEPSPEED_TIMEOUT', note: 'a variable' },
    { field: 'layout.kernel.precision', to: 'bf16.enabled, fp16.enabled' },
    { field: 'layout.checkpointPolicy.format', to: 'checkpoint.load_universal' },
    {
      field: 'training.globalBatchSize',
      to: 'train_batch_size',
      note: 'left to the other two sizes with AutoTP, whose ranks DeepSpeed counts as data-parallel there',
    },
    { field: 'training.microBatchSize', to: 'train_micro_batch_size_per_gpu' },
    { field: 'training.optimizer', to: 'optimizer' },
    { field: 'training.optimizer.clipNorm', to: 'gradient_clipping' },
    { field: 'training.schedule', to: 'scheduler' },
    { field: 'training.learningRate', to: 'optimizer.params.lr' },
    { field: 'training.minLearningRate', to: 'scheduler.params.cos_min_ratio', note: 'as a share of learningRate' },
    { field: 'training.warmupSteps', to: 'scheduler.params.warmup_num_steps' },
    { field: 'training.weightDecay', to: 'optimizer.params.weight_decay' },
    { field: 'training.precision', to: 'bf16.enabled' },
    { field: 'training.steps', to: 'scheduler.params.total_num_steps', note: 'and job.json' },
    { field: 'model', to: 'job.json' },
    { field: 'data', to: 'job.json' },
    { field: 'initialWeights', to: 'job.json' },
    { field: 'checkpoint', to: 'job.json', note: 'directories are in COXSWAIN_SAVE_DIR and COXSWAIN_RESUME_ROOT' },
    { field: 'engine.args', to: 'appended' },
    {
      field: 'engine.options',
      to: 'deepspeed.json',
      note: 'what sets a field is read into it; what contradicts one is refused; the rest is not priced',
    },
    { field: 'engine.env', to: 'its environment' },
  ],
  traps: [
    {
      what: 'MiCS, which shared states in groups of ranks, is no longer there: its key ends the run.',
      answer: 'layout.dataParallelShardDegree is refused; layout.states.secondaryShardDegree is hpZ.',
      source: 'deepspeed 0.19.8, runtime/config.py, _REMOVED_ZERO_CONFIG_KEYS',
    },
    {
      what: 'Keys of the file that DeepSpeed does not know are ignored, and a tensor degree that does not divide the ranks is taken.',
      answer:
        'Only keys of its classes are rendered; degrees come from the layout, whose product is the number of ranks.',
      source: 'deepspeed 0.19.8, DeepSpeedConfig with {"tensor_parallel": {"autotp_size": 3}} at 64 ranks',
    },
    {
      what: 'A pipeline with ZeRO 2 or 3 fails in the constructor of its engine, after the gang was placed.',
      answer: 'Refused by layout.states.zeroStage.',
      source: 'deepspeed 0.19.8, runtime/pipe/engine.py',
    },
    {
      what: 'A warm-up of 0 steps is an error, and one of a single step is two.',
      answer: 'Coxswain sets warmup_num_steps to at least 1 and adds a note.',
      source: 'deepspeed 0.19.8, runtime/lr_schedules.py',
    },
    {
      what: 'WarmupDecayLR falls to 0.',
      answer: 'Coxswain adds a note; cosine has a minimum rate.',
      source: 'deepspeed 0.19.8, runtime/lr_schedules.py',
    },
    {
      what: 'A checkpoint of two ranks is not loaded by four.',
      answer:
        'checkpointPolicy.format deepspeed-universal sets checkpoint.load_universal; ds_to_universal has to run between.',
      source: 'deepspeed 0.19.8 on CPU ranks: ZeRORuntimeException',
    },
  ],
};
