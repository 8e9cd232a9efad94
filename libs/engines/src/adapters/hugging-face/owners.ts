/** Which field of the job sets an argument of TrainingArguments. */
const OWNERS: Readonly<Record<string, string>> = {
  output_dir: 'checkpoint',
  save_strategy: 'checkpoint',
  save_steps: 'checkpoint.everySteps',
  save_total_limit: 'the catalogue of checkpoints',
  save_only_model: 'checkpoint',
  resume_from_checkpoint: 'checkpoint',
  max_steps: 'training.steps',
  num_train_epochs: 'training.steps',
  per_device_train_batch_size: 'training.microBatchSize',
  auto_find_batch_size: 'training.microBatchSize',
  gradient_accumulation_steps: 'training.globalBatchSize',
  learning_rate: 'training.learningRate',
  weight_decay: 'training.weightDecay',
  warmup_steps: 'training.warmupSteps',
  optim: 'training.optimizer.name',
  adam_beta1: 'training.optimizer.beta1',
  adam_beta2: 'training.optimizer.beta2',
  adam_epsilon: 'training.optimizer.epsilon',
  max_grad_norm: 'training.optimizer.clipNorm',
  lr_scheduler_type: 'training.schedule.name',
  lr_scheduler_kwargs: 'training.schedule',
  seed: 'training.seed',
  full_determinism: 'layout.kernel.deterministic',
  torch_compile: 'layout.kernel.compile',
  bf16: 'training.precision',
  fp16: 'training.precision',
  gradient_checkpointing: 'layout.memory.recompute',
  activation_checkpointing: 'layout.memory.recompute',
  fsdp: 'layout.states',
  fsdp_config: 'layout.states',
  deepspeed: 'layout.states.implementation',
  parallelism_config: 'layout',
  local_rank: 'the launcher',
};

/** The field of the job that sets an option; undefined if the user may set it. */
export function ownerOf(option: string): string | undefined {
  return OWNERS[option] ?? OWNERS[option.replace(/^no_/, '')];
}
