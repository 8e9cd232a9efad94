import type { ExpertLayout } from './expert-layout.ts';
import type { LayoutEngine } from './layout-facts.ts';
import type { OffloadRule } from './memory-policy.ts';
import type { ParallelLayout } from './parallel-layout.ts';
import type { PipelinePlan } from './pipeline-plan.ts';
import type { ContextAlgorithm } from './sequence-plan.ts';
import type { StateSharding } from './state-sharding.ts';

type Schedule = NonNullable<PipelinePlan['schedule']>;
type Dynamic = NonNullable<NonNullable<ParallelLayout['sequence']>['dynamic']>['method'];
type Attention = NonNullable<NonNullable<ParallelLayout['kernel']>['attention']>;

/** What an engine can be told. An option that is not listed is refused, never dropped. */
export interface EngineCapabilities {
  /** What it is, and where what stands here was read. */
  readonly source: string;
  /** Keys of a layout that it takes beside the three degrees, whatever their value. */
  readonly keys: readonly (keyof ParallelLayout)[];
  readonly schedules: readonly Schedule[];
  readonly vocabularies: readonly NonNullable<PipelinePlan['vocabulary']>[];
  readonly listsStages: boolean;
  readonly contextAlgorithms: readonly ContextAlgorithm[];
  readonly dynamic: readonly Dynamic[];
  readonly zeroStages: readonly number[];
  readonly optimizers: readonly NonNullable<StateSharding['optimizer']>[];
  readonly offloads: readonly OffloadRule['what'][];
  /** Deep Optimizer States: part of the subgroups is updated on the GPU. */
  readonly gpuStride: boolean;
  readonly expertTensor: boolean;
  readonly dispatchers: readonly NonNullable<ExpertLayout['dispatcher']>[];
  readonly balances: readonly NonNullable<ExpertLayout['balance']>[];
  readonly attention: readonly Attention[];
}

const MEGATRON: EngineCapabilities = {
  source: 'NVIDIA/Megatron-LM d98e8a64dd',
  keys: [
    'contextParallelDegree',
    'dataParallelShardDegree',
    'weightShardDegree',
    'rankOrder',
    'expert',
    'pipeline',
    'sequence',
    'states',
    'memory',
    'communication',
    'kernel',
    'checkpointPolicy',
  ],
  schedules: ['1f1b', 'interleaved-1f1b'],
  vocabularies: ['end-stages', 'counted-as-layer'],
  listsStages: true,
  contextAlgorithms: ['ring', 'dist-flash', 'allgather', 'ulysses', 'ulysses-ring'],
  dynamic: ['hybrid-data-parallel'],
  zeroStages: [0, 1, 2, 3],
  optimizers: ['adamw', 'sgd', 'lion', 'muon'],
  offloads: ['optimizer', 'activations'],
  gpuStride: false,
  expertTensor: true,
  dispatchers: ['allgather', 'alltoall', 'deepep', 'hybridep', 'ncclep'],
  balances: ['none', 'aux-loss', 'bias'],
  attention: ['auto', 'flash', 'fused', 'unfused', 'local'],
};

/** An engine that is told degrees and nothing else. */
const DEGREES_ONLY: EngineCapabilities = {
  source: 'engines/reference of this project',
  keys: [],
  schedules: ['1f1b'],
  vocabularies: ['end-stages'],
  listsStages: false,
  contextAlgorithms: [],
  dynamic: [],
  zeroStages: [0],
  optimizers: ['adamw'],
  offloads: [],
  gpuStride: false,
  expertTensor: false,
  dispatchers: [],
  balances: [],
  attention: ['auto'],
};

const TORCHTITAN: EngineCapabilities = {
  ...MEGATRON,
  source: 'pytorch/torchtitan b5bcd76c6',
  keys: [
    'contextParallelDegree',
    'dataParallelShardDegree',
    'expert',
    'pipeline',
    'sequence',
    'states',
    'memory',
    'communication',
    'kernel',
    'checkpointPolicy',
  ],
  schedules: ['1f1b', 'interleaved-1f1b', 'gpipe', 'looped-bfs', 'zbv', 'dualpipe-v', 'schedule-file'],
  vocabularies: ['end-stages'],
  contextAlgorithms: ['ring', 'allgather'],
  dynamic: [],
  zeroStages: [0, 3],
  optimizers: ['adamw'],
  offloads: ['parameters'],
  expertTensor: false,
  dispatchers: ['alltoall', 'deepep', 'hybridep'],
  balances: ['none', 'bias'],
  attention: ['auto', 'flex'],
};

const DEEPSPEED: EngineCapabilities = {
  ...MEGATRON,
  source: 'deepspeedai/DeepSpeed edaa72212',
  keys: [
    'contextParallelDegree',
    'dataParallelShardDegree',
    'expert',
    'pipeline',
    'sequence',
    'states',
    'memory',
    'communication',
    'kernel',
    'checkpointPolicy',
  ],
  schedules: ['1f1b'],
  vocabularies: ['end-stages'],
  contextAlgorithms: ['ulysses'],
  dynamic: [],
  optimizers: ['adamw', 'sgd', 'lion', 'muon', 'lamb'],
  offloads: ['optimizer', 'parameters', 'activations', 'layers'],
  expertTensor: true,
  dispatchers: ['alltoall'],
  balances: ['none', 'aux-loss'],
  attention: ['auto', 'flash'],
};

/** What each engine can be told; a fork has a row of its own. Read in the repositories named in `source`, at those commits. */
export const ENGINE_CAPABILITIES: Readonly<Record<LayoutEngine, EngineCapabilities>> = {
  reference: DEGREES_ONLY,
  command: { ...DEGREES_ONLY, source: 'any program, started as given; its options belong into engine.args' },
  'megatron-lm': MEGATRON,
  'megatron-bridge': { ...MEGATRON, source: 'NVIDIA-NeMo/Megatron-Bridge 067f987df' },
  torchtitan: TORCHTITAN,
  'torchtitan-toml': { ...TORCHTITAN, source: 'pytorch/torchtitan v0.2.2, the last release with TOML' },
  deepspeed: DEEPSPEED,
  'megatron-deepspeed': {
    ...DEEPSPEED,
    source: 'deepspeedai/Megatron-DeepSpeed 4efb479d',
    schedules: ['1f1b', 'zb-h1'],
  },
  galvatron: {
    ...MEGATRON,
    source: 'PKU-DAIR/Hetu-Galvatron cea12ff; branches flexsp, laer-moe',
    keys: [...MEGATRON.keys, 'perLayer'],
    schedules: ['1f1b', 'gpipe'],
    vocabularies: ['end-stages'],
    contextAlgorithms: ['ring', 'ulysses'],
    dynamic: ['flexsp'],
    optimizers: ['adamw'],
    offloads: [],
    balances: ['none', 'aux-loss'],
  },
  mindspeed: {
    ...MEGATRON,
    source: 'Ascend/MindSpeed 028de58c, MindSpeed-LLM c77308a1, MindSpeed-MM 57069cd5',
    schedules: ['1f1b', 'interleaved-1f1b', 'dualpipe-v'],
    dynamic: [],
  },
  mindformers: {
    ...MEGATRON,
    source: 'mindspore-lab/mindformers fd4deebc1',
    keys: [...MEGATRON.keys, 'tensorPlacements'],
    contextAlgorithms: [],
    dynamic: [],
    zeroStages: [0, 1],
    optimizers: ['adamw'],
    offloads: [],
    balances: ['none', 'aux-loss'],
    dispatchers: ['alltoall'],
  },
  flagscale: { ...MEGATRON, source: 'FlagOpen/FlagScale da4935ec6' },
  colossalai: {
    ...MEGATRON,
    source: 'hpcaitech/ColossalAI 4f9953be3',
    schedules: ['1f1b', 'interleaved-1f1b', 'zbv'],
    vocabularies: ['end-stages'],
    listsStages: false,
    contextAlgorithms: ['ring', 'ring-self-attention', 'ulysses'],
    dynamic: [],
    zeroStages: [0, 1, 2],
    optimizers: ['adamw', 'lamb', 'galore'],
    offloads: ['optimizer'],
    dispatchers: ['alltoall'],
    balances: ['none', 'aux-loss'],
  },
  libai: {
    ...MEGATRON,
    source: 'Oneflow-Inc/libai 9dcbe3b2',
    keys: ['pipeline', 'states', 'memory', 'kernel', 'checkpointPolicy', 'tensorPlacements'],
    schedules: ['1f1b'],
    vocabularies: ['end-stages'],
    contextAlgorithms: [],
    dynamic: [],
    optimizers: ['adamw', 'sgd', 'lamb'],
    offloads: [],
    dispatchers: [],
    balances: [],
  },
  redco: {
    ...DEGREES_ONLY,
    source: 'tanyuqian/redco 8129ab3',
    keys: ['tensorPlacements', 'kernel'],
  },
  areal: { ...MEGATRON, source: 'inclusionAI/AReaL 4aef98d8d' },
  verl: { ...MEGATRON, source: 'verl-project/verl 1dda039b9' },
  'nemo-rl': { ...MEGATRON, source: 'NVIDIA-NeMo/RL 7ea279abf' },
  'zero-bubble': {
    ...MEGATRON,
    source: 'sail-sg/zero-bubble-pipeline-parallelism 39f2c186',
    schedules: ['1f1b', 'interleaved-1f1b', 'zb-h1', 'zb-2p', 'zbv', 'v-half', 'v-min'],
    dynamic: [],
  },
  'vocabulary-parallelism': {
    ...MEGATRON,
    source: 'sail-sg/VocabularyParallelism 6191c3bf',
    schedules: ['1f1b', 'v-half'],
    vocabularies: ['end-stages', 'counted-as-layer', 'sharded-over-pp', 'interlaced'],
    dynamic: [],
  },
  skippipe: {
    ...DEGREES_ONLY,
    source: 'gensyn-ai/skippipe 7f20d8a',
    keys: ['pipeline'],
    schedules: ['gpipe', 'partial-paths'],
  },
  'deep-optimizer-states': {
    ...DEEPSPEED,
    source: 'DataStates/DeepSpeed 6f061899, branch deep-optimizer-states',
    gpuStride: true,
  },
  'linear-moe': {
    ...MEGATRON,
    source: 'OpenSparseLLMs/Linear-MoE b312754',
    contextAlgorithms: ['allgather', 'state-allgather'],
    dynamic: [],
  },
  zo2: {
    ...DEGREES_ONLY,
    source: 'liangyuwang/zo2 4bca25c; its distributed part is not in the repository',
    keys: ['states', 'memory', 'kernel'],
    optimizers: ['mezo-sgd'],
    offloads: ['layers'],
  },
  'natural-galore': {
    ...DEGREES_ONLY,
    source: 'selfsupervised-ai/Natural-GaLore e23336d',
    keys: ['states', 'kernel'],
    optimizers: ['adamw', 'galore', 'natural-galore'],
  },
  rcm: {
    ...DEGREES_ONLY,
    source: 'NVlabs/rcm 5b41aa9',
    keys: ['contextParallelDegree', 'dataParallelShardDegree', 'sequence', 'states', 'checkpointPolicy', 'kernel'],
    contextAlgorithms: ['ulysses'],
    zeroStages: [0, 3],
  },
  custom: {
    ...MEGATRON,
    source: 'an image of the user’s own that reads the layout itself',
    keys: [...MEGATRON.keys, 'perLayer', 'tensorPlacements'],
    schedules: ['gpipe', '1f1b', 'interleaved-1f1b', 'schedule-file'],
    vocabularies: ['end-stages', 'counted-as-layer'],
    contextAlgorithms: [
      'ring',
      'ring-self-attention',
      'dist-flash',
      'allgather',
      'ulysses',
      'ulysses-ring',
      'token-ring',
      'magi',
    ],
    dynamic: [],
    optimizers: ['adamw', 'sgd', 'lion', 'muon', 'lamb', 'galore', 'natural-galore'],
    offloads: ['optimizer', 'parameters', 'activations'],
    dispatchers: ['allgather', 'alltoall', 'alltoall-2d', 'deepep', 'hybridep', 'ncclep'],
    balances: ['none', 'aux-loss', 'bias', 'adaptive-degree'],
    attention: ['auto', 'flash', 'fused', 'flex', 'unfused', 'local'],
  },
};
