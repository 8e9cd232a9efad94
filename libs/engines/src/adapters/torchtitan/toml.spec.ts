import { changesOfTitan, type TitanChange } from '../../testing/titan-changes.ts';

const DATA = { claimName: 'corpus', path: 'lines', format: 'jsonl', tokenizer: { path: 'tokenizer' } } as const;
const OLDER: TitanChange = { engine: { release: 'v0.2.2' } };
const SIZES = {
  layers: 8,
  hiddenSize: 256,
  attentionHeads: 8,
  gatedMlp: true,
  vocabularySize: 512,
  sequenceLength: 1024,
};
const trained = (values: object): TitanChange => ({ training: { steps: 1000, globalBatchSize: 64, ...values } });
const layout = (values: object): TitanChange => ({ layout: values });
const data = (values: object): TitanChange => ({ data: { ...DATA, ...values } });

it.each<[string, TitanChange, readonly string[]]>([
  [
    'another preset, by the name of its flavour',
    { model: { preset: 'qwen3-8b', sequenceLength: 4096 } },
    ['name = "qwen3"', 'without name = "llama3"'],
  ],
  [
    'a length of samples',
    { model: { preset: 'llama-3.1-8b', sequenceLength: 8192 } },
    ['seq_len = 8192', 'without seq_len = 4096'],
  ],
  [
    'numbers of the optimizer',
    trained({ optimizer: { name: 'adam', beta1: 0.8, beta2: 0.9, epsilon: 1e-6 } }),
    ['name = "Adam"', 'beta1 = 0.8', 'beta2 = 0.9', 'eps = 0.000001', 'without name = "AdamW"'],
  ],
  [
    'a ring',
    layout({ contextParallelDegree: 2, sequence: { contextAlgorithm: 'ring' } }),
    [
      'context_parallel_degree = 2',
      'context_parallel_rotate_method = "alltoall"',
      'without context_parallel_degree = 1',
    ],
  ],
  [
    'gathered keys and values',
    layout({ contextParallelDegree: 2, sequence: { contextAlgorithm: 'allgather', causalBalance: 'head-tail' } }),
    [
      'context_parallel_degree = 2',
      'context_parallel_load_balancer = "headtail"',
      'context_parallel_rotate_method = "allgather"',
      'without context_parallel_degree = 1',
    ],
  ],
  [
    'fp8 products',
    layout({ kernel: { precision: 'fp8' } }),
    [
      '[compile]',
      'converters = ["quantize.linear.float8"]',
      'note: The model is compiled: what the layout asks for exists in compiled models alone.',
    ],
  ],
  [
    'mxfp8 products',
    layout({ kernel: { precision: 'mxfp8' } }),
    [
      '[compile]',
      'converters = ["quantize.linear.mx"]',
      'note: The model is compiled: what the layout asks for exists in compiled models alone.',
    ],
  ],
  [
    'layers computed again by a budget',
    layout({ memory: { recompute: { mode: 'budget', budget: 0.5 } } }),
    [
      '[compile]',
      'mode = "memory_budget"',
      'memory_budget = 0.5',
      'note: The model is compiled: what the layout asks for exists in compiled models alone.',
      'without mode = "none"',
    ],
  ],
  [
    'overlapped tensors',
    layout({ communication: { overlapTensorParallel: true } }),
    [
      'enable_async_tensor_parallel = true',
      '[compile]',
      'note: The model is compiled: what the layout asks for exists in compiled models alone.',
    ],
  ],
  [
    'a pipeline, whose output has its old name',
    layout({ pipelineParallelDegree: 8 }),
    [
      'pipeline_parallel_degree = 8',
      'pipeline_parallel_schedule = "1F1B"',
      'pipeline_parallel_microbatch_size = 1',
      'module_fqns_per_model_part = [["tok_embeddings","layers.0","layers.1","layers.2","layers.3"],["layers.4","layers.5","layers.6","layers.7"],["layers.8","layers.9","layers.10","layers.11"],["layers.12","layers.13","layers.14","layers.15"],["layers.16","layers.17","layers.18","layers.19"],["layers.20","layers.21","layers.22","layers.23"],["layers.24","layers.25","layers.26","layers.27"],["layers.28","layers.29","layers.30","layers.31","norm","output"]]',
      'local_batch_size = 16',
      'note: Only ranks of the last stage know the loss; other ranks log -1.',
      'without pipeline_parallel_degree = 1',
      'without local_batch_size = 1',
    ],
  ],
])('a job becomes tables of TorchTitan up to v0.2.2: %s', (_sentence, change, want) => {
  expect(changesOfTitan(change, OLDER)).toEqual(want);
});

it.each<[string, TitanChange, readonly string[]]>([
  [
    'sizes without a flavour',
    { model: SIZES },
    [
      'engine-lacks-model',
      'model',
      'torchtitan up to v0.2.2 has no flavour of these sizes',
      'use one of the presets llama-3.1-8b, llama-3.1-70b, llama-3.1-405b, deepseek-v3, qwen3-8b, qwen3-32b, qwen3-30b-a3b, qwen3-235b-a22b, or release v0.3.0',
    ],
  ],
  [
    'several sources',
    data({ path: undefined, paths: [{ path: 'a' }] }),
    [
      'engine-lacks-word',
      'data.paths',
      'torchtitan up to v0.2.2 cannot do data.paths [{"path":"a","weight":1}]',
      'give one directory in data.path',
    ],
  ],
  [
    'plain texts',
    data({ format: 'text' }),
    [
      'engine-lacks-word',
      'data.format',
      'torchtitan up to v0.2.2 cannot do data.format text',
      'give a directory of JSON lines, or take release v0.3.0',
    ],
  ],
  [
    'no data',
    { data: undefined },
    [
      'engine-needs-part',
      'data',
      'torchtitan up to v0.2.2 needs data and a tokenizer: its own default is fetched from the internet',
      'set data.path to a directory of JSON lines, and data.tokenizer.path',
    ],
  ],
  [
    'graphs',
    layout({ kernel: { cudaGraphs: 'full' } }),
    [
      'engine-lacks-word',
      'layout.kernel.cudaGraphs',
      'torchtitan up to v0.2.2 cannot do layout.kernel.cudaGraphs full',
      'leave it out, or take release v0.3.0',
    ],
  ],
  [
    'a backend of attention',
    layout({ kernel: { attention: 'flash' } }),
    [
      'engine-lacks-option',
      'layout.kernel.attention',
      'engine "torchtitan-toml" cannot do layout.kernel.attention flash',
      'use auto, or engine megatron-lm or megatron-bridge or deepspeed',
    ],
  ],
  [
    'a mask of documents',
    layout({ kernel: { attentionMask: 'document' } }),
    [
      'engine-lacks-word',
      'layout.kernel.attentionMask',
      'torchtitan up to v0.2.2 cannot do layout.kernel.attentionMask document',
      'leave it out: its flavours mask causally',
    ],
  ],
  [
    'samples that the ranks of a tensor do not share',
    layout({ sequence: { sequenceParallel: false } }),
    [
      'engine-lacks-word',
      'layout.sequence.sequenceParallel',
      'torchtitan up to v0.2.2 cannot do layout.sequence.sequenceParallel false',
      'set it to true: it always goes with tensor parallelism there',
    ],
  ],
  [
    'copies beside tensors',
    layout({ states: { zeroStage: 0 } }),
    [
      'torchtitan-copies-alone',
      'layout.states.zeroStage',
      'torchtitan up to v0.2.2 adds up copies of the whole model only where data parallelism is all there is',
      'set layout.states.zeroStage to 3',
    ],
  ],
  [
    'a length that is no multiple of twice the ranks',
    { model: { preset: 'llama-3.1-8b', sequenceLength: 4098 } },
    [
      'torchtitan-sequence-pieces',
      'model.sequenceLength',
      'model.sequenceLength 4098 is no multiple of 4, twice the tensor and context ranks',
      'use 4100',
    ],
  ],
])('a job that TorchTitan up to v0.2.2 cannot run is refused: %s', (_sentence, change, want) => {
  expect(changesOfTitan(change, OLDER)).toEqual(want);
});
