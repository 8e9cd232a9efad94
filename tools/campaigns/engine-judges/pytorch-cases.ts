/** Jobs for the engines' own judges: layouts of 64 to 512 ranks, and what published systems ask for. */
import { TrainingJobSpec, type TrainingJobSpecInput } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';

type Job = Omit<TrainingJobSpecInput, 'gpus' | 'engine'>;
type Layout = NonNullable<TrainingJobSpecInput['layout']>;

export interface JudgedCase {
  readonly title: string;
  readonly job: TrainingJobSpecInput;
  readonly world: number;
}

/** Small enough that one CPU process builds and trains it. */
const SMALL = {
  layers: 8,
  hiddenSize: 256,
  ffnHiddenSize: 512,
  attentionHeads: 16,
  gatedMlp: true,
  vocabularySize: 512,
};
const DENSE = { ...SMALL, keyValueHeads: 8, sequenceLength: 512 };
const EXPERTS = { ...DENSE, experts: { count: 16, topK: 2, ffnHiddenSize: 128 } };
const LATENT = {
  ...SMALL,
  experts: { count: 16, topK: 2, ffnHiddenSize: 128, sharedFfnHiddenSize: 128, denseLayers: 1 },
  latentAttention: { queryRank: 64, keyValueRank: 64, nopeHeadDim: 16, ropeHeadDim: 16, valueHeadDim: 16 },
  sequenceLength: 256,
};
const TRAINING = { steps: 2, globalBatchSize: 512 };
const SHARDED = { states: { zeroStage: 3 } } as const;

function cased(engine: TrainingJobSpecInput['engine'], title: string, job: Job): JudgedCase {
  const parsed = TrainingJobSpec.parse({ ...job, engine });
  if (parsed.layout === undefined) throw new Error(`${title} has no layout`);
  return { title, job: { ...job, engine }, world: worldSize(parsed.layout) };
}

function titan(title: string, layout: Layout, model: Job['model'] = DENSE): JudgedCase {
  const engine = { name: 'torchtitan', image: 'x' } as const;
  return cased(engine, title, { model, layout, training: TRAINING, data: { format: 'mock' } });
}

const EP = (expertParallelDegree: number) => ({ expert: { expertParallelDegree, expertTensorParallelDegree: 1 } });
const degrees = (tensor: number, data: number, pipeline = 1) => ({
  tensorParallelDegree: tensor,
  dataParallelDegree: data,
  pipelineParallelDegree: pipeline,
});

/** The eight that are trained a step, or built where they have stages; then a table row of each published system. */
export const TORCHTITAN_CASES: readonly JudgedCase[] = [
  titan('64: tp8 fsdp8', { ...degrees(8, 8), ...SHARDED, sequence: { sequenceParallel: true } }),
  titan('64: fsdp64, recomputed', { ...degrees(1, 64), ...SHARDED, memory: { recompute: { mode: 'full' } } }),
  titan('128: tp4 hsdp 4 x 8', { ...degrees(4, 32), ...SHARDED, dataParallelShardDegree: 8 }),
  titan('128: tp2 cp4 fsdp16', {
    ...degrees(2, 16),
    ...SHARDED,
    contextParallelDegree: 4,
    sequence: { sequenceParallel: true },
  }),
  titan('256: fsdp256 ep16', { ...degrees(1, 256), ...SHARDED, ...EP(16) }, EXPERTS),
  titan(
    '256: tp2 fsdp128 ep8, latent attention',
    { ...degrees(2, 128), ...SHARDED, ...EP(8), sequence: { sequenceParallel: true } },
    LATENT,
  ),
  titan('512: tp8 fsdp16 pp4, interleaved (row 10)', {
    ...degrees(8, 16, 4),
    ...SHARDED,
    dataParallelShardDegree: 8,
    pipeline: { schedule: 'interleaved-1f1b', chunksPerRank: 2 },
    sequence: { sequenceParallel: true },
  }),
  titan(
    '512: tp2 cp2 fsdp16 pp8 ep8, folded (row 24)',
    {
      ...degrees(2, 16, 8),
      ...SHARDED,
      contextParallelDegree: 2,
      ...EP(8),
      sequence: { sequenceParallel: true },
    },
    EXPERTS,
  ),
  titan('4: gpipe with listed stages (row 3)', {
    ...degrees(1, 1, 4),
    pipeline: {
      schedule: 'gpipe',
      stages: [{ layers: 1, embedding: true }, { layers: 3 }, { layers: 3 }, { layers: 1, loss: true }],
    },
    memory: { recompute: { mode: 'full' } },
  }),
  titan('128: tp8 dp4 pp4, interleaved (row 2)', { ...degrees(8, 4, 4), pipeline: { chunksPerRank: 2 } }),
  titan('64: stage 3 alone (row 11)', { ...degrees(1, 64), ...SHARDED }),
];

/** With a release of TOML: models are flavours, and nothing of them is built. */
export const TOML_CASES: readonly JudgedCase[] = (
  [
    ['64: tp8 fsdp8', { ...degrees(8, 8), ...SHARDED }],
    ['512: tp8 fsdp16 pp4', { ...degrees(8, 16, 4), ...SHARDED, pipeline: { chunksPerRank: 2 } }],
    [
      '128: tp4 cp4 fsdp8',
      { ...degrees(4, 8), ...SHARDED, contextParallelDegree: 4, sequence: { contextAlgorithm: 'ring' } },
    ],
  ] as const
).map(([title, layout]) =>
  cased({ name: 'torchtitan', image: 'x', release: 'v0.2.2' }, title, {
    model: { preset: 'llama-3.1-8b', sequenceLength: 8192 },
    layout,
    training: { ...TRAINING, schedule: { name: 'cosine' }, optimizer: { beta1: 0.9, clipNorm: 0 } },
    data: { claimName: 'c', path: 'p', tokenizer: { path: 't' } },
    checkpoint: { claimName: 's' },
  }),
);

const COMMAND = ['python3', 'train.py'];

function deepspeed(title: string, layout: Layout, training: Partial<Job['training']> = {}): JudgedCase {
  const engine = { name: 'deepspeed', image: 'x', command: COMMAND } as const;
  return cased(engine, title, { layout, training: { ...TRAINING, ...training } as Job['training'] });
}

const STAGE = (zeroStage: number) => ({ states: { zeroStage, implementation: 'deepspeed' as const } });

export const DEEPSPEED_CASES: readonly JudgedCase[] = [
  deepspeed('64: stage 3 with weights of a node (row 11)', {
    ...degrees(1, 64),
    states: { ...STAGE(3).states, secondaryShardDegree: 8 },
    communication: { overlapGradReduce: true },
    checkpointPolicy: { format: 'deepspeed-universal' },
  }),
  deepspeed('4: half of the optimizer on the host (row 12)', {
    ...degrees(1, 4),
    ...STAGE(3),
    memory: {
      recompute: { mode: 'full' },
      offload: [{ what: 'optimizer', to: 'cpu', fraction: 0.5, subgroupElements: 100_000_000 }],
    },
  }),
  deepspeed('32: Ulysses (row 15)', {
    ...degrees(1, 4),
    ...STAGE(3),
    contextParallelDegree: 8,
    sequence: { contextAlgorithm: 'ulysses' },
    kernel: { attention: 'flash' },
  }),
  deepspeed('64: experts that drop tokens (row 27)', {
    ...degrees(2, 32),
    ...STAGE(2),
    expert: {
      expertParallelDegree: 32,
      expertTensorParallelDegree: 2,
      dispatcher: 'alltoall',
      capacityFactor: 1,
      tokenDropOrder: 'random',
      balance: 'aux-loss',
    },
    memory: { offload: [{ what: 'optimizer', to: 'cpu' }], hostMemoryGibPerGpu: 64 },
  }),
  deepspeed('2: parameters on the host (row 35, by its way out)', {
    ...degrees(1, 2),
    ...STAGE(3),
    memory: { offload: [{ what: 'parameters', to: 'cpu' }] },
  }),
  deepspeed('64: folded experts', { ...degrees(2, 32), ...STAGE(1), ...EP(16) }),
  deepspeed('64: a pipeline', { ...degrees(1, 16, 4), ...STAGE(1) }, { schedule: { name: 'linear' } }),
  deepspeed('16: tensors', { ...degrees(4, 4), ...STAGE(2) }, { schedule: { name: 'cosine' }, warmupSteps: 1 }),
  deepspeed('16: a rate that is held', { ...degrees(1, 16), ...STAGE(3) }, { schedule: { name: 'constant' } }),
];

function trainer(title: string, layout: Layout, training: Partial<Job['training']> = {}): JudgedCase {
  const engine = { name: 'hugging-face', image: 'x', command: COMMAND } as const;
  const checkpoint = { claimName: 's' };
  return cased(engine, title, { layout, checkpoint, training: { ...TRAINING, ...training } as Job['training'] });
}

export const TRAINER_CASES: readonly JudgedCase[] = [
  trainer('copies', degrees(1, 8), {
    schedule: { name: 'cosine' },
    optimizer: { beta1: 0.9, beta2: 0.95, clipNorm: 1 },
  }),
  trainer(
    'FSDP2',
    { ...degrees(1, 8), states: { zeroStage: 3, reshardAfterForward: false } },
    { schedule: { name: 'linear' } },
  ),
  trainer('held and then falling', degrees(1, 8), {
    steps: 100,
    schedule: { name: 'wsd', decaySteps: 10 },
    optimizer: { name: 'sgd', momentum: 0.9 },
  }),
  trainer(
    'held',
    { ...degrees(1, 8), memory: { recompute: { mode: 'full' } } },
    { schedule: { name: 'constant' }, precision: 'fp32' },
  ),
];
