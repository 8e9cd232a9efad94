import type { EngineGuide } from '../../engine-guide.ts';

export const DEEPSPEED_GUIDE: EngineGuide = {
  words: [
    { word: 'engine.command', to: 'the program', note: 'its words may hold placeholders, as of custom' },
    { word: 'layout.tensorParallelDegree', to: 'tensor_parallel.autotp_size' },
    { word: 'layout.pipelineParallelDegree', to: 'pipeline.stages', note: 'the script makes the PipelineModule' },
    { word: 'layout.dataParallelDegree', to: 'gradient_accumulation_steps', note: 'follows from the number of ranks' },
    { word: 'layout.contextParallelDegree', to: 'sequence_parallel_size', note: 'Ulysses' },
    {
      word: 'layout.expert.expertParallelDegree',
      to: 'expert_parallel.autoep_size',
      note: 'MoE layers of the script: job.json',
    },
    { word: 'layout.states.zeroStage', to: 'zero_optimization.stage' },
    { word: 'layout.states.secondaryShardDegree', to: 'zero_optimization.zero_hpz_partition_size' },
    { word: 'layout.states.optimizer', to: 'optimizer.type' },
    { word: 'layout.memory.offload', to: 'zero_optimization.offload_optimizer, zero_optimization.offload_param' },
    { word: 'layout.memory.offload.fraction', to: 'zero_optimization.offload_optimizer.ratio' },
    { word: 'layout.memory.offload.subgroupElements', to: 'zero_optimization.sub_group_size' },
    {
      word: 'layout.memory.recompute',
      to: 'activation_checkpointing',
      note: 'the script calls deepspeed.checkpointing',
    },
    { word: 'layout.communication.overlapGradReduce', to: 'zero_optimization.overlap_comm' },
    { word: 'layout.communication.overlapParamGather', to: 'zero_optimization.overlap_comm' },
    { word: 'layout.communication.timeoutMinutes', to: 'DEEPSPEED_TIMEOUT', note: 'a variable' },
    { word: 'layout.kernel.precision', to: 'bf16.enabled, fp16.enabled' },
    { word: 'layout.checkpointPolicy.format', to: 'checkpoint.load_universal' },
    {
      word: 'training.globalBatchSize',
      to: 'train_batch_size',
      note: 'left to the other two sizes with AutoTP, whose ranks DeepSpeed counts as data-parallel there',
    },
    { word: 'training.microBatchSize', to: 'train_micro_batch_size_per_gpu' },
    { word: 'training.optimizer', to: 'optimizer' },
    { word: 'training.optimizer.clipNorm', to: 'gradient_clipping' },
    { word: 'training.schedule', to: 'scheduler' },
    { word: 'training.learningRate', to: 'optimizer.params.lr' },
    { word: 'training.minLearningRate', to: 'scheduler.params.cos_min_ratio', note: 'as a share of learningRate' },
    { word: 'training.warmupSteps', to: 'scheduler.params.warmup_num_steps' },
    { word: 'training.weightDecay', to: 'optimizer.params.weight_decay' },
    { word: 'training.precision', to: 'bf16.enabled' },
    { word: 'training.steps', to: 'scheduler.params.total_num_steps', note: 'and job.json' },
    { word: 'model', to: 'job.json' },
    { word: 'data', to: 'job.json' },
    { word: 'initialWeights', to: 'job.json' },
    { word: 'checkpoint', to: 'job.json', note: 'directories are in COXSWAIN_SAVE_DIR and COXSWAIN_RESUME_ROOT' },
    { word: 'engine.args', to: 'appended' },
    { word: 'engine.env', to: 'its environment' },
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
      answer: 'warmup_num_steps is 1 at least, and a note says so.',
      source: 'deepspeed 0.19.8, runtime/lr_schedules.py',
    },
    {
      what: 'WarmupDecayLR falls to 0.',
      answer: 'Told in a note; cosine has a least rate.',
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
