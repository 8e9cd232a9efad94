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
    'no training',
    { training: undefined },
    ['engine-needs-part', 'training', 'hugging-face needs training', 'set training'],
  ],
  [
    'an optimizer of the layout',
    states({ optimizer: 'sgd' }),
    [
      'engine-lacks-option',
      'layout.states.optimizer',
      'engine "hugging-face" cannot do layout.states.optimizer sgd',
      'use adamw, or engine megatron-lm or megatron-bridge or deepspeed',
    ],
  ],
  [
    'host memory, in which nothing waits',
    { layout: { memory: { hostMemoryGibPerGpu: 48 } } },
    [
      'engine-lacks-option',
      'layout.memory.hostMemoryGibPerGpu',
      'engine "hugging-face" cannot do layout.memory.hostMemoryGibPerGpu 48',
      'remove memory.hostMemoryGibPerGpu, or engine megatron-lm or megatron-bridge or torchtitan',
    ],
  ],
  [
    'an optimizer that it lacks',
    trained({ optimizer: { name: 'muon' } }),
    [
      'engine-lacks-word',
      'training.optimizer.name',
      'hugging-face cannot do training.optimizer.name muon',
      'set it to adamw',
    ],
  ],
  [
    'momentum of AdamW',
    trained({ optimizer: { momentum: 0.9 } }),
    [
      'engine-lacks-word',
      'training.optimizer.momentum',
      'hugging-face cannot do training.optimizer.momentum 0.9',
      'leave it out: only sgd has it',
    ],
  ],
  [
    'a part of the layers',
    recompute({ mode: 'selective' }),
    [
      'engine-lacks-word',
      'layout.memory.recompute.mode',
      'hugging-face cannot do layout.memory.recompute.mode selective',
      'use full',
    ],
  ],
  [
    'modules',
    recompute({ mode: 'full', modules: ['mlp'] }),
    [
      'engine-lacks-word',
      'layout.memory.recompute.modules',
      'hugging-face cannot do layout.memory.recompute.modules ["mlp"]',
      'leave it out',
    ],
  ],
  [
    'a method',
    recompute({ mode: 'full', method: 'block' }),
    [
      'engine-lacks-word',
      'layout.memory.recompute.method',
      'hugging-face cannot do layout.memory.recompute.method block',
      'leave it out: full recomputes every layer',
    ],
  ],
  [
    'a number of layers',
    recompute({ mode: 'full', layers: 2 }),
    [
      'engine-lacks-word',
      'layout.memory.recompute.layers',
      'hugging-face cannot do layout.memory.recompute.layers 2',
      'leave it out: full recomputes every layer',
    ],
  ],
  [
    'stage 1 without DeepSpeed',
    states({ zeroStage: 1 }),
    [
      'trainer-shards-by-fsdp2',
      'layout.states.implementation',
      'Trainer has layout.states.zeroStage 1 by deepspeed alone',
      'set it to deepspeed',
    ],
  ],
  [
    'FSDP2 of copies',
    states({ zeroStage: 0, implementation: 'fsdp2' }),
    [
      'trainer-shards-by-fsdp2',
      'layout.states.implementation',
      'Trainer has layout.states.zeroStage 0 by ddp alone',
      'set it to ddp',
    ],
  ],
  [
    'copies of stage 3',
    states({ zeroStage: 3, implementation: 'ddp' }),
    [
      'trainer-shards-by-fsdp2',
      'layout.states.implementation',
      'Trainer has layout.states.zeroStage 3 by fsdp2 alone',
      'set it to fsdp2',
    ],
  ],
  [
    'groups of shards',
    { layout: { dataParallelShardDegree: 4, states: { zeroStage: 3 } } },
    [
      'trainer-shard-groups',
      'layout.dataParallelShardDegree',
      'the arguments of Trainer shard over all ranks or over none',
      'leave it out, or set layout.states.implementation to deepspeed',
    ],
  ],
  [
    'shards of copies',
    { layout: { dataParallelShardDegree: 8 } },
    [
      'trainer-shard-groups',
      'layout.dataParallelShardDegree',
      'the arguments of Trainer shard over all ranks or over none',
      'leave it out, or set layout.states.implementation to deepspeed',
    ],
  ],
  [
    'a rate that rises in a schedule that falls',
    trained({ schedule: { name: 'linear' }, learningRate: 0.0001, minLearningRate: 0.001 }),
    [
      'rate-falls',
      'training.minLearningRate',
      'training.minLearningRate 0.001 is above training.learningRate 0.0001',
      'set it to 0.0001 or less, such as a tenth of it',
    ],
  ],
  [
    'a fall longer than the training',
    trained({ schedule: { name: 'wsd', decaySteps: 900 }, warmupSteps: 101 }),
    [
      'rate-within-steps',
      'training.warmupSteps',
      'training.warmupSteps 101 and training.schedule.decaySteps 900 are more than the 1000 steps of the training',
      'together they may be 1000 at most',
    ],
  ],
  [
    'what DeepSpeed refuses, where it runs',
    { ...trained({ optimizer: { beta1: 0.9 } }), layout: { states: { zeroStage: 1, implementation: 'deepspeed' } } },
    [
      'betas-are-two',
      'training.optimizer.beta2',
      'deepspeed needs both betas, and training.optimizer.beta2 is absent',
      'set training.optimizer.beta2',
    ],
  ],
  [
    'two precisions',
    { layout: { kernel: { precision: 'fp32' } } },
    [
      'precision-is-said-once',
      'layout.kernel.precision',
      'layout.kernel.precision fp32 is not training.precision bf16',
      'leave one of them out',
    ],
  ],
  [
    'a pipeline',
    { layout: { pipelineParallelDegree: 2 } },
    [
      'engine-lacks-option',
      'layout.pipelineParallelDegree',
      'engine "hugging-face" cannot do layout.pipelineParallelDegree 2',
      'remove pipelineParallelDegree, or engine megatron-lm or megatron-bridge or torchtitan',
    ],
  ],
])('Trainer refuses what it does not do: %s', (_sentence, change, want) => {
  expect(changesOfScript('hugging-face', change)).toEqual(want);
});

it.each<[string, ScriptChange, readonly string[]]>([
  [
    'its directory',
    args('--output_dir', '/x'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --output_dir, which checkpoint sets',
      'leave it out, and set checkpoint',
    ],
  ],
  [
    'how many checkpoints stay',
    args('--save-total-limit=3'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --save-total-limit, which the catalogue of checkpoints sets',
      'leave it out',
    ],
  ],
  [
    'epochs',
    args('--num_train_epochs', '3'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --num_train_epochs, which training.steps sets',
      'leave it out, and set training.steps',
    ],
  ],
  [
    'a batch that it finds itself',
    args('--auto-find-batch-size'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --auto-find-batch-size, which training.microBatchSize sets',
      'leave it out, and set training.microBatchSize',
    ],
  ],
  [
    'a precision, turned off',
    args('--no_bf16'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --no_bf16, which training.precision sets',
      'leave it out, and set training.precision',
    ],
  ],
  [
    'shards',
    args('--fsdp', 'full_shard'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --fsdp, which layout.states sets',
      'leave it out, and set layout.states',
    ],
  ],
  [
    'the rank of a process',
    args('--local_rank=0'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --local_rank, which the launcher sets',
      'leave it out',
    ],
  ],
  [
    'a seed behind what the script takes',
    args('--model-name', 'x', '--seed', '3'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --seed, which training.seed sets',
      'leave it out, and set training.seed',
    ],
  ],
  [
    'the beginning of one option',
    args('--max_st=3'),
    [
      'argument-is-whole',
      'engine.args',
      'engine.args holds --max_st, which argparse reads as --max_steps, and training.steps sets that option',
      "leave it out, and set training.steps; an option of the script's own by that name goes into engine.command",
    ],
  ],
  [
    "one option twice, of which the second is the job's",
    args('--report_to', 'none', '--report_to=all', '--warmup_steps', '1'),
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --warmup_steps, which training.warmupSteps sets',
      'leave it out, and set training.warmupSteps',
    ],
  ],
  [
    'an option in the command',
    { engine: { command: ['python3', 'train.py', '--learning_rate=1'] } },
    [
      'argument-is-said-by-the-job',
      'engine.command',
      'engine.command holds --learning_rate, which training.learningRate sets',
      'leave it out, and set training.learningRate',
    ],
  ],
  [
    'a word before any option',
    args('x'),
    [
      'argument-is-an-option',
      'engine.args',
      'engine.args holds "x", which belongs to no option',
      'write options as --name value, or --name=value',
    ],
  ],
])('Trainer refuses arguments that fields of the job set: %s', (_sentence, change, want) => {
  expect(changesOfScript('hugging-face', change)).toEqual(want);
});
