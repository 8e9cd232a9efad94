import { changesOfTitan, type TitanChange } from '../../testing/titan-changes.ts';

const SIZES = {
  layers: 8,
  hiddenSize: 256,
  attentionHeads: 8,
  gatedMlp: true,
  vocabularySize: 512,
  sequenceLength: 1024,
};
const DATA = { claimName: 'corpus', path: 'lines', format: 'jsonl', tokenizer: { path: 'tokenizer' } } as const;
const trained = (values: object): TitanChange => ({ training: { steps: 1000, globalBatchSize: 64, ...values } });
const layout = (values: object): TitanChange => ({ layout: values });
const data = (values: object): TitanChange => ({ data: { ...DATA, ...values } });
const model = (values: object): TitanChange => ({ model: { ...SIZES, ...values } });

it.each<[string, TitanChange, readonly string[]]>([
  [
    'no training',
    { training: undefined },
    ['engine-needs-part', 'training', 'torchtitan needs training', 'set training'],
  ],
  [
    'no data',
    { data: undefined },
    [
      'engine-needs-part',
      'data',
      'torchtitan needs data: its own default is fetched from the internet',
      'set data, or data.format to mock',
    ],
  ],
  [
    'texts without a tokenizer',
    data({ tokenizer: undefined }),
    [
      'engine-needs-part',
      'data.tokenizer',
      'torchtitan reads texts with a tokenizer',
      'set data.tokenizer.path to the directory of tokenizer.json and tokenizer_config.json',
    ],
  ],
  [
    'indexed tokens',
    data({ format: 'indexed' }),
    ['engine-lacks-word', 'data.format', 'torchtitan v0.3.0 cannot do data.format indexed', 'use jsonl'],
  ],
  [
    'a part that validates',
    data({ split: { train: 9, validation: 1 } }),
    [
      'engine-lacks-word',
      'data.split',
      'torchtitan cannot do data.split {"train":9,"validation":1,"test":0}',
      'leave it out: all of the data is trained on',
    ],
  ],
  [
    'no model',
    { model: undefined },
    ['engine-needs-part', 'model', 'torchtitan needs model, or a recipe that has one', 'set model, or engine.recipe'],
  ],
  [
    'an optimizer that it lacks',
    trained({ optimizer: { name: 'lion' } }),
    [
      'engine-lacks-word',
      'training.optimizer.name',
      'torchtitan cannot do training.optimizer.name lion',
      'set it to adamw',
    ],
  ],
  [
    'momentum',
    trained({ optimizer: { momentum: 0.9 } }),
    [
      'engine-lacks-word',
      'training.optimizer.momentum',
      'torchtitan cannot do training.optimizer.momentum 0.9',
      'leave it out: adamw has beta1 in its place',
    ],
  ],
  [
    'a rate that rises',
    trained({ learningRate: 0.0001, minLearningRate: 0.001 }),
    [
      'rate-falls',
      'training.minLearningRate',
      'training.minLearningRate 0.001 is above training.learningRate 0.0001',
      'set it to 0.0001 or less, such as a tenth of it',
    ],
  ],
  [
    'a sliding mask',
    layout({ kernel: { attentionMask: 'sliding' } }),
    [
      'engine-lacks-word',
      'layout.kernel.attentionMask',
      'torchtitan cannot do layout.kernel.attentionMask sliding',
      'leave it out: torchtitan masks causally within each document',
    ],
  ],
  [
    'a softmax that learns',
    layout({ kernel: { softmax: 'learnable' } }),
    [
      'engine-lacks-word',
      'layout.kernel.softmax',
      'torchtitan cannot do layout.kernel.softmax learnable',
      'leave it out',
    ],
  ],
  [
    'modules that are computed again',
    layout({ memory: { recompute: { mode: 'selective', modules: ['mlp'] } } }),
    [
      'engine-lacks-word',
      'layout.memory.recompute.modules',
      'torchtitan cannot do layout.memory.recompute.modules ["mlp"]',
      'leave it out: torchtitan chooses by the operations of a layer',
    ],
  ],
  [
    'layers that are computed again',
    layout({ memory: { recompute: { mode: 'full', layers: 2 } } }),
    [
      'engine-lacks-word',
      'layout.memory.recompute.layers',
      'torchtitan cannot do layout.memory.recompute.layers 2',
      'leave it out: full recomputes every layer',
    ],
  ],
  [
    'states on a disk',
    {
      ...layout({ memory: { offload: [{ what: 'parameters', to: 'nvme' }], hostMemoryGibPerGpu: 8 } }),
      scratch: { sizeLimit: '1Gi' },
    },
    ['engine-lacks-word', 'layout.memory.offload.to', 'torchtitan cannot do layout.memory.offload.to nvme', 'use cpu'],
  ],
  [
    'gradients that do not overlap',
    layout({ communication: { overlapGradReduce: false } }),
    [
      'engine-lacks-word',
      'layout.communication.overlapGradReduce',
      'torchtitan cannot do layout.communication.overlapGradReduce false',
      'leave it out: FSDP2 always overlaps',
    ],
  ],
  [
    'a ring',
    layout({ contextParallelDegree: 2, sequence: { contextAlgorithm: 'ring' } }),
    [
      'engine-lacks-word',
      'layout.sequence.contextAlgorithm',
      'torchtitan v0.3.0 cannot do layout.sequence.contextAlgorithm ring',
      'use allgather: its FlexAttention gathers keys and values',
    ],
  ],
  [
    'graphs of layers',
    layout({ kernel: { cudaGraphs: 'partial' } }),
    [
      'engine-lacks-word',
      'layout.kernel.cudaGraphs',
      'torchtitan v0.3.0 cannot do layout.kernel.cudaGraphs partial',
      'use full or none',
    ],
  ],
  [
    'graphs of a pipeline',
    layout({ pipelineParallelDegree: 2, kernel: { cudaGraphs: 'full' } }),
    [
      'torchtitan-graphs',
      'layout.kernel.cudaGraphs',
      'torchtitan captures no CUDA graphs with layout.pipelineParallelDegree above 1',
      'set layout.kernel.cudaGraphs to none',
    ],
  ],
  [
    'copies by FSDP2',
    layout({ states: { zeroStage: 0, implementation: 'fsdp2' } }),
    [
      'torchtitan-shards-by-fsdp2',
      'layout.states.implementation',
      'torchtitan has no layout.states.implementation fsdp2 at layout.states.zeroStage 0',
      'use ddp, or zeroStage 3 with fsdp2',
    ],
  ],
  [
    'shards without a stage',
    layout({ states: { zeroStage: 0 }, dataParallelShardDegree: 4 }),
    [
      'torchtitan-shards-by-fsdp2',
      'layout.dataParallelShardDegree',
      'layout.dataParallelShardDegree 4 shards nothing at layout.states.zeroStage 0',
      'set layout.states.zeroStage to 3, or leave layout.dataParallelShardDegree out',
    ],
  ],
  [
    'context of copies',
    layout({ states: { zeroStage: 0 }, contextParallelDegree: 2 }),
    [
      'torchtitan-shards-over-context',
      'layout.states.zeroStage',
      'torchtitan shards states over context-parallel ranks, and layout.contextParallelDegree is 2',
      'set layout.states.zeroStage to 3',
    ],
  ],
  [
    'shards that context does not divide',
    layout({ contextParallelDegree: 2, dataParallelShardDegree: 3 }),
    [
      'torchtitan-shard-group',
      'layout.dataParallelShardDegree',
      "layout.dataParallelShardDegree 3 is no multiple of layout.contextParallelDegree 2 that divides both degrees' product",
      'use 8, or 2 times a divisor of layout.dataParallelDegree 4',
    ],
  ],
  [
    'experts of a model without any',
    layout({ expert: { expertParallelDegree: 2, expertTensorParallelDegree: 1 } }),
    [
      'experts-are-there',
      'layout.expert',
      'layout.expert divides experts, and the model has none',
      'leave layout.expert out',
    ],
  ],
  [
    'tensors that do not divide the keys',
    layout({ tensorParallelDegree: 16 }),
    [
      'torchtitan-key-value-heads',
      'layout.tensorParallelDegree',
      'layout.tensorParallelDegree 16 does not divide model.keyValueHeads 8',
      'use 8 or one of its divisors',
    ],
  ],
  [
    'offloaded states of copies',
    layout({ states: { zeroStage: 0 }, memory: { offload: [{ what: 'parameters' }], hostMemoryGibPerGpu: 8 } }),
    [
      'torchtitan-offloads-shards',
      'layout.memory.offload',
      'torchtitan offloads what FSDP2 shards, and layout.states.zeroStage is not 3',
      'set layout.states.zeroStage to 3, or leave layout.memory.offload out',
    ],
  ],
  [
    'fp32 products of a training in bf16',
    layout({ kernel: { precision: 'fp32' } }),
    [
      'precision-is-said-once',
      'layout.kernel.precision',
      'layout.kernel.precision fp32 is not training.precision bf16',
      'leave it out, or set training.precision to fp32',
    ],
  ],
  [
    'a length that its ranks do not share evenly',
    { ...layout({ sequence: { sequenceParallel: true } }), model: { preset: 'llama-3.1-8b', sequenceLength: 4095 } },
    [
      'torchtitan-sequence-pieces',
      'model.sequenceLength',
      'model.sequenceLength 4095 is no multiple of 2, which tensor and context ranks need',
      'use 4096',
    ],
  ],
  [
    'a length that has no whole blocks for context',
    { ...layout({ contextParallelDegree: 2 }), model: { preset: 'llama-3.1-8b', sequenceLength: 4000 } },
    [
      'torchtitan-sequence-pieces',
      'model.sequenceLength',
      'model.sequenceLength 4000 is no multiple of 256, which tensor and context ranks need',
      'use 4096',
    ],
  ],
  [
    'a model without gates',
    model({ gatedMlp: false }),
    [
      'engine-lacks-model',
      'model.gatedMlp',
      "torchtitan's llama3 has no model.gatedMlp false",
      'name a function of the image that makes its configuration in engine.recipe',
    ],
  ],
  [
    'a model with biases',
    model({ linearBias: true }),
    [
      'engine-lacks-model',
      'model.linearBias',
      "torchtitan's llama3 has no model.linearBias true",
      'name a function of the image that makes its configuration in engine.recipe',
    ],
  ],
  [
    'a model with windows',
    model({ attentionWindow: 128, windowedLayers: 8 }),
    [
      'engine-lacks-model',
      'model.windowedLayers',
      "torchtitan's llama3 has no model.windowedLayers 8",
      'name a function of the image that makes its configuration in engine.recipe',
    ],
  ],
  [
    'a preset of another kind',
    { model: { preset: 'gpt-oss-20b', sequenceLength: 4096 } },
    [
      'engine-lacks-model',
      'model',
      'torchtitan has no model of this kind',
      'name a function of the image that makes its configuration in engine.recipe',
    ],
  ],
])('TorchTitan refuses what it does not do: %s', (_sentence, change, want) => {
  expect(changesOfTitan(change)).toEqual(want);
});
