import { changesOfScript, type ScriptChange } from '../../testing/script-changes.ts';

const TRAINING = { steps: 1000, globalBatchSize: 64, microBatchSize: 2 };
const trained = (values: object): ScriptChange => ({ training: { ...TRAINING, ...values } });
const states = (values: object, more: object = {}): ScriptChange => ({ layout: { states: values, ...more } });
type Memory = NonNullable<NonNullable<ScriptChange['layout']>['memory']>;
type Offload = NonNullable<Memory['offload']>[number];
const offload = (rule: Offload, zeroStage = 3): ScriptChange => ({
  layout: { states: { zeroStage }, memory: { offload: [rule], hostMemoryGibPerGpu: 64 } },
});

it.each<[string, ScriptChange, readonly string[]]>([
  [
    'no training',
    { training: undefined },
    ['engine-needs-part', 'training', 'deepspeed needs training', 'set training, whose batch DeepSpeed divides'],
  ],
  [
    'an optimizer that it lacks',
    trained({ optimizer: { name: 'adafactor' } }),
    [
      'engine-lacks-word',
      'training.optimizer.name',
      'deepspeed cannot do training.optimizer.name adafactor',
      'set it to adamw',
    ],
  ],
  [
    'an optimizer of the layout that it lacks',
    states({ optimizer: 'sgd' }),
    [
      'engine-lacks-word',
      'layout.states.optimizer',
      'deepspeed cannot do layout.states.optimizer sgd',
      'set it to adamw, or have the script make its own',
    ],
  ],
  [
    'two optimizers',
    { ...trained({ optimizer: { name: 'lamb' } }), layout: { states: { optimizer: 'lion' } } },
    [
      'optimizer-is-said-once',
      'layout.states.optimizer',
      'layout.states.optimizer lion is not training.optimizer.name lamb',
      'leave one of them out',
    ],
  ],
  [
    'shards of another implementation',
    states({ zeroStage: 3, implementation: 'fsdp2' }),
    [
      'engine-lacks-word',
      'layout.states.implementation',
      'deepspeed cannot do layout.states.implementation fsdp2',
      'set it to deepspeed',
    ],
  ],
  [
    'a fall over the last steps',
    trained({ schedule: { name: 'wsd', decaySteps: 10 } }),
    [
      'engine-lacks-word',
      'training.schedule.name',
      'deepspeed cannot do training.schedule.name wsd',
      'use cosine, linear or constant',
    ],
  ],
  [
    'a cosine that rises',
    trained({ schedule: { name: 'cosine' }, learningRate: 0.0001, minLearningRate: 0.001 }),
    [
      'rate-falls',
      'training.minLearningRate',
      'training.minLearningRate 0.001 is above training.learningRate 0.0001',
      'set it to 0.0001 or less, such as a tenth of it',
    ],
  ],
  [
    'a warm-up that is longer than the training',
    trained({ schedule: { name: 'constant' }, warmupSteps: 1001 }),
    [
      'rate-within-steps',
      'training.warmupSteps',
      'training.warmupSteps 1001 are more than the 1000 steps of the training',
      'together they may be 1000 at most',
    ],
  ],
  [
    'modules that are computed again',
    { layout: { memory: { recompute: { mode: 'selective' } } } },
    [
      'engine-lacks-word',
      'layout.memory.recompute.mode',
      'deepspeed cannot do layout.memory.recompute.mode selective',
      'use full',
    ],
  ],
  [
    'saving beside training',
    { layout: { checkpointPolicy: { asyncSave: true } } },
    [
      'engine-lacks-word',
      'layout.checkpointPolicy.asyncSave',
      'deepspeed cannot do layout.checkpointPolicy.asyncSave true',
      'leave it out: the script saves, and waits for it',
    ],
  ],
  [
    'stage 2 in a pipeline',
    { layout: { pipelineParallelDegree: 2, states: { zeroStage: 2 } } },
    [
      'deepspeed-pipeline-stages',
      'layout.states.zeroStage',
      'deepspeed has no pipeline with layout.states.zeroStage 2: gradients are kept over micro-batches',
      'set it to 1 or 0',
    ],
  ],
  [
    'groups that share states',
    { layout: { dataParallelShardDegree: 4, states: { zeroStage: 3 } } },
    [
      'deepspeed-shard-groups',
      'layout.dataParallelShardDegree',
      'deepspeed shares states over all 8 ranks that hold the same part of the model: MiCS has been removed',
      'leave it out, or keep a second copy of weights in small groups by layout.states.secondaryShardDegree',
    ],
  ],
  [
    'small groups below stage 3',
    states({ zeroStage: 2, secondaryShardDegree: 4 }),
    [
      'deepspeed-shard-groups',
      'layout.states.secondaryShardDegree',
      'layout.states.secondaryShardDegree 4 divides the 8 ranks of stage 3 alone',
      'set layout.states.zeroStage to 3 and layout.states.secondaryShardDegree to a divisor of 8',
    ],
  ],
  [
    'small groups that do not divide the ranks',
    states({ zeroStage: 3, secondaryShardDegree: 3 }),
    [
      'deepspeed-shard-groups',
      'layout.states.secondaryShardDegree',
      'layout.states.secondaryShardDegree 3 divides the 8 ranks of stage 3 alone',
      'set layout.states.zeroStage to 3 and layout.states.secondaryShardDegree to a divisor of 8',
    ],
  ],
  [
    'an offloaded optimizer without shards',
    offload({ what: 'optimizer' }, 0),
    [
      'deepspeed-offload-stage',
      'layout.memory.offload.0',
      'deepspeed offloads optimizer like this from layout.states.zeroStage 1 on, and it is 0',
      'set layout.states.zeroStage to 1, or leave the rule out',
    ],
  ],
  [
    'a part of an optimizer below stage 3',
    offload({ what: 'optimizer', fraction: 0.5 }, 2),
    [
      'deepspeed-offload-stage',
      'layout.memory.offload.0',
      'deepspeed offloads optimizer like this from layout.states.zeroStage 3 on, and it is 2',
      'set layout.states.zeroStage to 3, or leave the rule out',
    ],
  ],
  [
    'parameters below stage 3',
    offload({ what: 'parameters' }, 2),
    [
      'deepspeed-offload-stage',
      'layout.memory.offload.0',
      'deepspeed offloads parameters like this from layout.states.zeroStage 3 on, and it is 2',
      'set layout.states.zeroStage to 3, or leave the rule out',
    ],
  ],
  [
    'gradients in fp32 without shards',
    { ...trained({ precision: 'bf16' }), ...states({ zeroStage: 0, gradientPrecision: 'fp32' }) },
    [
      'deepspeed-gradients',
      'layout.states.gradientPrecision',
      'deepspeed adds gradients up in the format of the weights, or beside bf16 in fp32 from layout.states.zeroStage 1 on; weights are bf16, gradients fp32, and the stage is 0',
      'leave it out, or set it to bf16',
    ],
  ],
  [
    'activations that no layer recomputes',
    offload({ what: 'activations' }),
    [
      'deepspeed-offloads-recomputed',
      'layout.memory.offload.0',
      'deepspeed offloads the inputs of recomputed layers alone, and layout.memory.recompute.mode is none',
      'set layout.memory.recompute.mode to full, or leave the rule out',
    ],
  ],
  [
    'a disk without scratch',
    offload({ what: 'parameters', to: 'nvme' }),
    [
      'offload-has-room',
      'layout.memory.offload.0.to',
      'what is offloaded to nvme needs room, and the job has no scratch',
      'set scratch, or offload to cpu',
    ],
  ],
  [
    'a part of the parameters',
    offload({ what: 'parameters', fraction: 0.5 }),
    [
      'engine-lacks-word',
      'layout.memory.offload.0.fraction',
      'deepspeed cannot do fraction of parameters',
      'leave it out',
    ],
  ],
  [
    'transfers of an optimizer in host memory beside computation',
    offload({ what: 'optimizer', overlap: true }),
    [
      'engine-lacks-word',
      'layout.memory.offload.0.overlap',
      'deepspeed cannot do overlap of optimizer',
      'leave it out',
    ],
  ],
  [
    'groups of activations',
    offload({ what: 'activations', subgroupElements: 10 }),
    [
      'engine-lacks-word',
      'layout.memory.offload.0.subgroupElements',
      'deepspeed cannot do subgroupElements of activations',
      'leave it out',
    ],
  ],
  [
    'activations on a disk',
    { ...offload({ what: 'activations', to: 'nvme' }), scratch: { sizeLimit: '10Gi' } },
    ['engine-lacks-word', 'layout.memory.offload.0.to', 'deepspeed cannot do to of activations', 'leave it out'],
  ],
  [
    'folded experts beside offloaded states',
    {
      layout: {
        tensorParallelDegree: 2,
        expert: { expertParallelDegree: 4, expertTensorParallelDegree: 1 },
        states: { zeroStage: 1 },
        memory: { offload: [{ what: 'optimizer' }], hostMemoryGibPerGpu: 64 },
      },
    },
    [
      'deepspeed-folding',
      'layout.memory.offload',
      'deepspeed folds layout.expert.expertParallelDegree 4 onto layout.tensorParallelDegree 2 without layout.memory.offload alone',
      'leave layout.memory.offload out, or set layout.tensorParallelDegree to 1',
    ],
  ],
  [
    'folded experts in a pipeline',
    {
      layout: {
        tensorParallelDegree: 2,
        pipelineParallelDegree: 2,
        expert: { expertParallelDegree: 4, expertTensorParallelDegree: 1 },
      },
    },
    [
      'deepspeed-folding',
      'layout.pipelineParallelDegree',
      'deepspeed folds layout.expert.expertParallelDegree 4 onto layout.tensorParallelDegree 2 without layout.pipelineParallelDegree alone',
      'leave layout.pipelineParallelDegree out, or set layout.tensorParallelDegree to 1',
    ],
  ],
  [
    'Ulysses in a pipeline',
    { layout: { contextParallelDegree: 2, pipelineParallelDegree: 2, sequence: { contextAlgorithm: 'ulysses' } } },
    [
      'deepspeed-sequence-mesh',
      'layout.pipelineParallelDegree',
      'deepspeed has Ulysses and data parallelism together, and nothing beside: layout.pipelineParallelDegree is above 1',
      'set layout.pipelineParallelDegree to 1',
    ],
  ],
  [
    'one beta of two',
    trained({ optimizer: { beta2: 0.95 } }),
    [
      'betas-are-two',
      'training.optimizer.beta1',
      'deepspeed needs both betas, and training.optimizer.beta1 is absent',
      'set training.optimizer.beta1',
    ],
  ],
  [
    'fp32 products of a training in bf16',
    { layout: { kernel: { precision: 'fp32' } } },
    [
      'precision-is-said-once',
      'layout.kernel.precision',
      'layout.kernel.precision fp32 is not training.precision bf16',
      'leave it out, or set training.precision to fp32',
    ],
  ],
  [
    'bf16 products of a training in fp32',
    { ...trained({ precision: 'fp32' }), layout: { kernel: { precision: 'bf16' } } },
    [
      'precision-is-said-once',
      'layout.kernel.precision',
      'layout.kernel.precision bf16 is not training.precision fp32',
      'leave it out, or set training.precision to bf16',
    ],
  ],
  [
    'a minute of collectives said twice',
    {
      engine: { env: [{ name: 'DEEPSPEED_TIMEOUT', value: '30' }] },
      layout: { communication: { timeoutMinutes: 45 } },
    },
    [
      'variable-is-said-by-the-job',
      'engine.env',
      'engine.env holds DEEPSPEED_TIMEOUT, which layout.communication.timeoutMinutes sets',
      'leave one of them out',
    ],
  ],
  [
    "a file of the user's",
    { engine: { args: ['--deepspeed_config=mine.json'] } },
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --deepspeed_config, which the rendered configuration sets',
      'leave it out',
    ],
  ],
  [
    "a file of the user's under the old name",
    { engine: { args: ['--deepscale-config', 'mine.json'] } },
    [
      'argument-is-said-by-the-job',
      'engine.args',
      'engine.args holds --deepscale-config, which the rendered configuration sets',
      'leave it out',
    ],
  ],
  [
    'the beginning of that option',
    { engine: { args: ['--deepspeed_co', 'mine.json'] } },
    [
      'argument-is-whole',
      'engine.args',
      'engine.args holds --deepspeed_co, which argparse reads as --deepspeed_config, and the rendered configuration sets that option',
      "leave it out; an option of the script's own by that name goes into engine.command",
    ],
  ],
  [
    'that option in the command',
    { engine: { command: ['python3', 'train.py', '--deepspeed'] } },
    [
      'argument-is-said-by-the-job',
      'engine.command',
      'engine.command holds --deepspeed, which the rendered configuration sets',
      'leave it out',
    ],
  ],
  [
    'a placeholder without a field',
    { engine: { args: ['{training.step}'] } },
    [
      'placeholder-is-a-word',
      'engine.args',
      'engine.args holds {training.step}, and the job has no such field',
      'use {training.steps}, or write {{training.step}} for the text itself',
    ],
  ],
])('DeepSpeed refuses what it would do otherwise or not at all: %s', (_sentence, change, want) => {
  expect(changesOfScript('deepspeed', change)).toEqual(want);
});
