/** Jobs of each engine that have what a field needs to mean something: none breaks a rule. */
import { type EngineName, TrainingJobSpec, type TrainingJobSpecInput } from '@coxswain/api-types';
import { aDraft, CAPABILITIES, specOf } from '../megatron/testing/index.ts';

type Job = Omit<TrainingJobSpecInput, 'gpus'>;

export interface JobOfEngine {
  readonly engine: EngineName;
  readonly what: string;
  readonly job: object;
}

const llama = {
  layers: 8,
  hiddenSize: 256,
  attentionHeads: 8,
  gatedMlp: true,
  vocabularySize: 512,
  sequenceLength: 1024,
};
const experts = { count: 8, topK: 2, ffnHiddenSize: 128 };
const text: Job['data'] = { claimName: 'corpus', path: 'a', tokenizer: { path: 't' } };
const degrees = { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 4 };
const copies = { ...degrees, tensorParallelDegree: 1 };

const base = {
  training: { steps: 100, globalBatchSize: 16, optimizer: {} },
  checkpoint: { claimName: 'saved' },
  data: text,
  model: llama,
} satisfies Partial<Job>;

const torchtitan = { name: 'torchtitan' as const, image: 'x' };
const scripts = { name: 'deepspeed' as const, image: 'x', command: ['python3', 'train.py'] };

const OF_SCRIPTS: readonly (readonly [string, Job])[] = [
  ['as it is', { ...base, engine: torchtitan, layout: degrees }],
  ['with a pipeline', { ...base, engine: torchtitan, layout: { ...degrees, pipelineParallelDegree: 2 } }],
  [
    'with context and shards',
    { ...base, engine: torchtitan, layout: { ...degrees, contextParallelDegree: 2, states: { zeroStage: 3 } } },
  ],
  [
    'with experts',
    {
      ...base,
      engine: torchtitan,
      model: { ...llama, experts },
      layout: {
        ...degrees,
        states: { zeroStage: 3 },
        expert: { expertParallelDegree: 2, expertTensorParallelDegree: 1 },
      },
    },
  ],
  [
    'by TOML',
    {
      ...base,
      engine: { ...torchtitan, release: 'v0.2.2' },
      model: { preset: 'llama-3.1-8b', sequenceLength: 1024 },
      layout: { ...degrees, states: { zeroStage: 3 } },
    },
  ],
  ['of stage 2', { ...base, engine: scripts, layout: { ...degrees, states: { zeroStage: 2 } } }],
  ['of stage 3', { ...base, engine: scripts, layout: { ...degrees, states: { zeroStage: 3 } } }],
  ['of copies', { ...base, engine: { ...scripts, name: 'hugging-face' }, layout: copies }],
  [
    'with adapters',
    {
      ...base,
      engine: { ...scripts, name: 'hugging-face' },
      training: { ...base.training, lora: { rank: 777 } },
      layout: copies,
    },
  ],
  [
    'with FSDP',
    { ...base, engine: { ...scripts, name: 'hugging-face' }, layout: { ...copies, states: { zeroStage: 3 } } },
  ],
  [
    'with DeepSpeed',
    {
      ...base,
      engine: { ...scripts, name: 'hugging-face' },
      layout: { ...copies, states: { zeroStage: 2, implementation: 'deepspeed' } },
    },
  ],
  ['as it is', { ...base, engine: { ...scripts, name: 'custom' }, layout: degrees }],
  [
    'as it is',
    {
      ...base,
      engine: { name: 'reference', image: 'x' },
      data: { claimName: 'corpus', path: 'a' },
      model: { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 },
      layout: degrees,
    },
  ],
];

const OF_MEGATRON = [
  'data parallelism of 8',
  'tensor parallelism',
  'interleaved pipeline',
  'ring of context',
  'experts by all-to-all',
  'optimizer in host memory',
  'activations in host memory',
  'a pattern of layers',
  'weighted data',
] as const;
const MEGATRONS = [
  { name: 'megatron-lm', release: 'core_v0.19.0', image: 'x' },
  { name: 'megatron-bridge', release: 'v0.3.1', image: 'x' },
  {
    name: 'megatron-bridge',
    image: 'x',
    recipe: 'megatron.bridge.recipes.gpt.gpt3_175b:gpt3_175b_pretrain_config',
  },
] as const;

function ofMegatron(engine: (typeof MEGATRONS)[number], capability: (typeof OF_MEGATRON)[number]): JobOfEngine {
  const draft = aDraft();
  CAPABILITIES[capability]?.(draft);
  const what = 'recipe' in engine ? `by a recipe, with ${capability}` : `with ${capability}`;
  return { engine: engine.name, what, job: { ...specOf(draft), engine } };
}

function withAdapters(): JobOfEngine {
  const draft = aDraft();
  const { training, ...spec } = specOf(draft);
  const initialWeights = { claimName: 'weights', path: 'base', format: 'torch_dist' } as const;
  const job = {
    ...spec,
    engine: { name: 'megatron-bridge', image: 'x' },
    initialWeights,
    training: { ...training, lora: { rank: 777 } },
  };
  return { engine: 'megatron-bridge', what: 'with adapters', job };
}

function withGrowingBatch(): JobOfEngine {
  const { training, ...spec } = specOf(aDraft());
  const batchRampUp = { startSize: 8, increment: 8, samples: 48 };
  const job = { ...spec, engine: MEGATRONS[0], training: { ...training, globalBatchSize: 16, batchRampUp } };
  return { engine: 'megatron-lm', what: 'with a batch that grows', job };
}

export const JOBS_OF_ENGINES: readonly JobOfEngine[] = [
  ...OF_SCRIPTS.map(([what, job]) => ({ engine: job.engine.name, what, job: TrainingJobSpec.parse(job) })),
  ...MEGATRONS.flatMap((engine) => OF_MEGATRON.map((capability) => ofMegatron(engine, capability))),
  withAdapters(),
  withGrowingBatch(),
];
