import { changesOfScript, type ScriptChange } from '../../testing/script-changes.ts';
const variable = (name: string): ScriptChange => ({ engine: { env: [{ name, value: '1' }] } });

it.each<[string, ScriptChange, readonly string[]]>([
  [
    'another engine',
    variable('ACCELERATE_USE_MEGATRON_LM'),
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds ACCELERATE_USE_MEGATRON_LM, which Accelerate reads if no argument overrides it, and which engine.name sets',
      'leave it out, and set engine.name',
    ],
  ],
  [
    'a precision',
    variable('ACCELERATE_MIXED_PRECISION'),
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds ACCELERATE_MIXED_PRECISION, which Accelerate reads if no argument overrides it, and which training.precision sets',
      'leave it out, and set training.precision',
    ],
  ],
  [
    'passes of a step',
    variable('ACCELERATE_GRADIENT_ACCUMULATION_STEPS'),
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds ACCELERATE_GRADIENT_ACCUMULATION_STEPS, which Accelerate reads if no argument overrides it, and which training.globalBatchSize sets',
      'leave it out, and set training.globalBatchSize',
    ],
  ],
  [
    'clipping',
    variable('ACCELERATE_GRADIENT_CLIPPING'),
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds ACCELERATE_GRADIENT_CLIPPING, which Accelerate reads if no argument overrides it, and which training.optimizer.clipNorm sets',
      'leave it out, and set training.optimizer.clipNorm',
    ],
  ],
  [
    'a degree of its own layout',
    variable('PARALLELISM_CONFIG_TP_SIZE'),
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds PARALLELISM_CONFIG_TP_SIZE, which Accelerate reads if no argument overrides it, and which layout sets',
      'leave it out, and set layout',
    ],
  ],
  [
    'the version of FSDP',
    variable('FSDP_VERSION'),
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds FSDP_VERSION, which Accelerate reads if no argument overrides it, and which layout.states.implementation sets',
      'leave it out, and set layout.states.implementation',
    ],
  ],
  [
    'a stage of FSDP',
    variable('FSDP_SHARDING_STRATEGY'),
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds FSDP_SHARDING_STRATEGY, which Accelerate reads if no argument overrides it, and which layout.states.zeroStage sets',
      'leave it out, and set layout.states.zeroStage',
    ],
  ],
  [
    'gathered parameters',
    variable('FSDP_RESHARD_AFTER_FORWARD'),
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds FSDP_RESHARD_AFTER_FORWARD, which Accelerate reads if no argument overrides it, and which layout.states.reshardAfterForward sets',
      'leave it out, and set layout.states.reshardAfterForward',
    ],
  ],
  [
    'parameters in host memory',
    variable('FSDP_OFFLOAD_PARAMS'),
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds FSDP_OFFLOAD_PARAMS, which Accelerate reads if no argument overrides it, and which layout.memory.offload sets',
      'leave it out, and set layout.memory.offload',
    ],
  ],
  [
    'layers that are computed again',
    variable('FSDP_ACTIVATION_CHECKPOINTING'),
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds FSDP_ACTIVATION_CHECKPOINTING, which Accelerate reads if no argument overrides it, and which layout.memory.recompute sets',
      'leave it out, and set layout.memory.recompute',
    ],
  ],
  [
    'a form of checkpoints',
    variable('FSDP_STATE_DICT_TYPE'),
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds FSDP_STATE_DICT_TYPE, which Accelerate reads if no argument overrides it, and which checkpoint sets',
      'leave it out, and set checkpoint',
    ],
  ],
  [
    'one from a Secret',
    { engine: { secretEnv: [{ name: 'ACCELERATE_USE_DEEPSPEED', secret: 'job-s', key: 'k' }] } },
    [
      'variable-is-said-by-the-job',
      'engine.secretEnv',
      'engine.secretEnv holds ACCELERATE_USE_DEEPSPEED, which Accelerate reads if no argument overrides it, and which layout.states.implementation sets',
      'leave it out, and set layout.states.implementation',
    ],
  ],
])('Trainer refuses variables that fields of the job set: %s', (_sentence, change, want) => {
  expect(changesOfScript('hugging-face', change)).toEqual(want);
});
