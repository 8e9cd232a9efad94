import type { EngineGuide } from '../../engine-guide.ts';

/** The guide of engine `hugging-face`. */
export const HUGGING_FACE_GUIDE: EngineGuide = {
  fields: [
    { field: 'engine.command', to: 'the program', note: 'its arguments can hold placeholders, as for custom' },
    {
      field: 'layout.dataParallelDegree',
      to: '--gradient_accumulation_steps',
      note: 'follows from the number of ranks',
    },
    { field: 'layout.states.zeroStage', to: '--fsdp', note: '3: FSDP2; 1 and 2 by DeepSpeed alone' },
    {
      field: 'layout.states.implementation',
      to: '--deepspeed',
      note: 'deepspeed: its file is rendered as of engine deepspeed',
    },
    { field: 'layout.states.reshardAfterForward', to: '--fsdp_config', note: 'reshard_after_forward' },
    { field: 'layout.memory.recompute', to: '--gradient_checkpointing', note: 'activation_checkpointing of FSDP' },
    { field: 'layout.kernel.precision', to: '--bf16, --fp16' },
    { field: 'layout.kernel.deterministic', to: '--full_determinism' },
    { field: 'training.steps', to: '--max_steps' },
    { field: 'training.globalBatchSize', to: '--gradient_accumulation_steps' },
    { field: 'training.microBatchSize', to: '--per_device_train_batch_size' },
    { field: 'training.optimizer.name', to: '--optim' },
    { field: 'training.optimizer.beta1', to: '--adam_beta1' },
    { field: 'training.optimizer.beta2', to: '--adam_beta2' },
    { field: 'training.optimizer.epsilon', to: '--adam_epsilon' },
    { field: 'training.optimizer.momentum', to: '--optim_args', note: 'of sgd' },
    { field: 'training.optimizer.clipNorm', to: '--max_grad_norm' },
    { field: 'training.schedule', to: '--lr_scheduler_type, --lr_scheduler_kwargs' },
    { field: 'training.learningRate', to: '--learning_rate' },
    { field: 'training.minLearningRate', to: '--lr_scheduler_kwargs' },
    { field: 'training.warmupSteps', to: '--warmup_steps' },
    { field: 'training.weightDecay', to: '--weight_decay' },
    { field: 'training.seed', to: '--seed' },
    { field: 'training.precision', to: '--bf16' },
    {
      field: 'training.lora',
      to: '--use_peft, --lora_r, --lora_alpha, --lora_dropout, --lora_target_modules',
      note: 'of ModelConfig of TRL; other scripts read job.json',
    },
    {
      field: 'training.packing',
      to: '--packing, --packing_strategy, --max_length, --attn_implementation',
      note: 'of SFTConfig and ModelConfig of TRL; other scripts read job.json',
    },
    { field: 'checkpoint.everySteps', to: '--save_steps' },
    { field: 'model', to: 'job.json' },
    { field: 'data', to: 'job.json' },
    { field: 'initialWeights', to: 'job.json' },
    { field: 'engine.args', to: 'appended' },
    {
      field: 'engine.options',
      to: '--name=value; with a dot, deepspeed.json',
      note: 'what sets a field is read into it; what contradicts one is refused; the rest is not priced',
    },
    { field: 'engine.env', to: 'its environment' },
  ],
  traps: [
    {
      what: '--fsdp takes no true: what stands there is an option of the old FSDP.',
      answer: '--fsdp is rendered without a value.',
      source: 'transformers 5.23.0, training_args.py, _apply_legacy_fsdp_to_config; npm run campaign -- pytorch-judges',
    },
    {
      what: 'On a machine without an accelerator, FSDP is switched off without a message, and every rank trains a copy.',
      answer: 'Coxswain adds a note, and compares what the ranks train with the layout.',
      source: 'transformers 5.23.0 with accelerate 1.15.0 on CPU ranks: the wrapper is DistributedDataParallel',
    },
    {
      what: 'Shards of FSDP are saved as one whole state by default, on one rank.',
      answer: 'state_dict_type is SHARDED_STATE_DICT.',
      source: 'transformers 5.23.0, training_args.py, _process_fsdp_args',
    },
    {
      what: 'Arguments that differ from DeepSpeed’s file end the run at its start.',
      answer: 'Coxswain renders both from the same fields.',
      source: 'transformers 5.23.0, integrations/deepspeed.py, fill_match',
    },
  ],
};
