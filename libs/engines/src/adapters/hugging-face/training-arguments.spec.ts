import { changesOfScript, type ScriptChange } from '../../testing/script-changes.ts';

const TRAINING = { steps: 1000, globalBatchSize: 64, microBatchSize: 2 };
const trained = (values: object): ScriptChange => ({ training: { ...TRAINING, ...values } });
const states = (values: object): ScriptChange => ({ layout: { states: values } });
type Memory = NonNullable<NonNullable<ScriptChange['layout']>['memory']>;
const recompute = (values: NonNullable<Memory['recompute']>): ScriptChange => ({
  layout: { memory: { recompute: values } },
});
const args = (...words: readonly string[]): ScriptChange => ({ engine: { args: [...words] } });

it.each<[string, ScriptChange, readonly string[]]>([
  [
    'steps, of which a hundred are logged',
    trained({ steps: 250 }),
    ['--max_steps=250', '--logging_steps=3', 'without --max_steps=1000', 'without --logging_steps=10'],
  ],
  [
    'tokens, which whole steps cover',
    trained({ steps: undefined, tokens: 64 * 4096 * 20 }),
    ['--max_steps=20', '--logging_steps=1', 'without --max_steps=1000', 'without --logging_steps=10'],
  ],
  [
    'a batch, by passes of one rank',
    trained({ globalBatchSize: 128 }),
    ['--gradient_accumulation_steps=8', 'without --gradient_accumulation_steps=4'],
  ],
  [
    'samples of one pass',
    trained({ microBatchSize: 8 }),
    [
      '--per_device_train_batch_size=8',
      '--gradient_accumulation_steps=1',
      'without --per_device_train_batch_size=2',
      'without --gradient_accumulation_steps=4',
    ],
  ],
  [
    'a rate, its decay and its warm-up',
    trained({ learningRate: 0.002, weightDecay: 0.01, warmupSteps: 50 }),
    [
      '--learning_rate=0.002',
      '--weight_decay=0.01',
      '--warmup_steps=50',
      'without --learning_rate=0.001',
      'without --weight_decay=0.1',
      'without --warmup_steps=0',
    ],
  ],
  [
    'SGD with momentum',
    trained({ optimizer: { name: 'sgd', momentum: 0.9 } }),
    ['--optim=sgd', '--optim_args=momentum=0.9', 'without --optim=adamw_torch'],
  ],
  ['Lion, in 32 bits', trained({ optimizer: { name: 'lion' } }), ['--optim=lion_32bit', 'without --optim=adamw_torch']],
  ['Adafactor', trained({ optimizer: { name: 'adafactor' } }), ['--optim=adafactor', 'without --optim=adamw_torch']],
  [
    'numbers of the optimizer',
    trained({ optimizer: { beta1: 0.8, beta2: 0.9, epsilon: 1e-6, clipNorm: 0 } }),
    ['--adam_beta1=0.8', '--adam_beta2=0.9', '--adam_epsilon=0.000001', '--max_grad_norm=0'],
  ],
  [
    'a cosine with a least rate',
    trained({ schedule: { name: 'cosine' } }),
    ['--lr_scheduler_type=cosine_with_min_lr', '--lr_scheduler_kwargs={"min_lr":0.0001}'],
  ],
  ['one rate', trained({ schedule: { name: 'constant' } }), ['--lr_scheduler_type=constant_with_warmup']],
  [
    'a line from the warm-up to the end',
    trained({ schedule: { name: 'linear' }, warmupSteps: 100, learningRate: 0.001, minLearningRate: 0.0005 }),
    [
      '--warmup_steps=100',
      '--lr_scheduler_type=warmup_stable_decay',
      '--lr_scheduler_kwargs={"num_decay_steps":900,"min_lr_ratio":0.5,"decay_type":"linear"}',
      'without --warmup_steps=0',
    ],
  ],
  ['a seed', trained({ seed: 7 }), ['--seed=7', 'without --seed=1234']],
  ['fp32', trained({ precision: 'fp32' }), ['without --bf16=true']],
  ['fp16 products', { layout: { kernel: { precision: 'fp16' } } }, ['--fp16=true', 'without --bf16=true']],
  ['the same numbers in each run', { layout: { kernel: { deterministic: true } } }, ['--full_determinism=true']],
  [
    'steps between checkpoints',
    { checkpoint: { claimName: 'kept', everySteps: 7 } },
    ['--save_steps=7', 'without --save_steps=20'],
  ],
  [
    'no checkpoints',
    { checkpoint: undefined },
    [
      '--output_dir=/tmp/trainer',
      '--save_strategy=no',
      'without --output_dir=$(COXSWAIN_SAVE_DIR)',
      'without --save_strategy=steps',
      'without --save_steps=20',
      'without resumed by --resume_from_checkpoint=$(COXSWAIN_RESUME_FROM)',
    ],
  ],
  ['layers that are computed again', recompute({ mode: 'full' }), ['--gradient_checkpointing=true']],
  [
    'FSDP2',
    states({ zeroStage: 3, implementation: 'fsdp2' }),
    [
      '--fsdp',
      '--fsdp_config=$(COXSWAIN_ENGINE_FILES)/fsdp.json',
      'version: 2',
      'reshard_after_forward: true',
      'state_dict_type: "SHARDED_STATE_DICT"',
      'note: On ranks without GPUs Accelerate switches FSDP off without a message; the hook reports what the ranks train.',
    ],
  ],
  [
    'FSDP2 whose parameters stay gathered',
    states({ zeroStage: 3, reshardAfterForward: false }),
    [
      '--fsdp',
      '--fsdp_config=$(COXSWAIN_ENGINE_FILES)/fsdp.json',
      'version: 2',
      'reshard_after_forward: false',
      'state_dict_type: "SHARDED_STATE_DICT"',
      'note: On ranks without GPUs Accelerate switches FSDP off without a message; the hook reports what the ranks train.',
    ],
  ],
  [
    'layers that FSDP2 computes again',
    { layout: { states: { zeroStage: 3 }, memory: { recompute: { mode: 'full' } } } },
    [
      '--fsdp',
      '--fsdp_config=$(COXSWAIN_ENGINE_FILES)/fsdp.json',
      'version: 2',
      'reshard_after_forward: true',
      'state_dict_type: "SHARDED_STATE_DICT"',
      'activation_checkpointing: true',
      'note: On ranks without GPUs Accelerate switches FSDP off without a message; the hook reports what the ranks train.',
    ],
  ],
  [
    'DeepSpeed, which has the optimizer in its file',
    states({ zeroStage: 1, implementation: 'deepspeed' }),
    [
      '--deepspeed=$(COXSWAIN_ENGINE_FILES)/deepspeed.json',
      'train_batch_size: 64',
      'train_micro_batch_size_per_gpu: 2',
      'gradient_accumulation_steps: 4',
      'bf16.enabled: true',
      'optimizer.type: "AdamW"',
      'optimizer.params.lr: 0.001',
      'optimizer.params.weight_decay: 0.1',
      'zero_optimization.stage: 1',
      'zero_optimization.overlap_comm: true',
      'without --optim=adamw_torch',
    ],
  ],
  [
    'arguments of the script',
    args('--model-name', '{model.layers}', 'x', 'y', '--flag'),
    ['--model-name 32 x y', '--flag'],
  ],
  [
    'an argument of Trainer that the job leaves open',
    args('--dataloader_num_workers=4', '--report-to', 'none'),
    ['--dataloader_num_workers=4', '--report-to none'],
  ],
  ['a switch of Trainer, turned off', args('--no-remove-unused-columns'), ['--no-remove-unused-columns']],
  [
    'no model and no data',
    { model: undefined, data: undefined },
    [
      'without note: The script takes model and data from its own arguments, which can hold placeholders, or from job.json.',
    ],
  ],
])('a job becomes arguments of Trainer: %s', (_sentence, change, want) => {
  expect(changesOfScript('hugging-face', change)).toEqual(want);
});
