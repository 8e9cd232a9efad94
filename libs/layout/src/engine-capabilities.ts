/** Which options does each engine support? One table of rows that are read against each other, and therefore one file of more than 400 lines. */
import { FORMATS_BY_FAMILY, type LayoutCheckpointFormat } from './checkpoint-formats.ts';
import type { ExpertLayout } from './expert-layout.ts';
import type { LayoutEngine } from './layout-facts.ts';
import type { OffloadRule } from './memory-policy.ts';
import type { ParallelLayout } from './parallel-layout.ts';
import type { PipelinePlan } from './pipeline-plan.ts';
import type { ContextAlgorithm } from './sequence-plan.ts';
import type { StateSharding } from './state-sharding.ts';

type Schedule = NonNullable<PipelinePlan['schedule']>;
type Dynamic = NonNullable<NonNullable<ParallelLayout['sequence']>['dynamic']>['method'];
type Kernel = NonNullable<ParallelLayout['kernel']>;
type Attention = NonNullable<Kernel['attention']>;

/** The options that an engine supports. An option that is not listed is refused, never dropped. */
export interface EngineCapabilities {
  /** What it is, and where what stands here was read. */
  readonly source: string;
  /** Dotted options of a layout that it takes; one with parts stands for all of them. */
  readonly options: readonly string[];
  readonly schedules: readonly Schedule[];
  readonly vocabularies: readonly NonNullable<PipelinePlan['vocabulary']>[];
  readonly contextAlgorithms: readonly ContextAlgorithm[];
  readonly dynamic: readonly Dynamic[];
  readonly zeroStages: readonly number[];
  readonly optimizers: readonly NonNullable<StateSharding['optimizer']>[];
  readonly offloads: readonly OffloadRule['what'][];
  readonly expertTensor: boolean;
  readonly dispatchers: readonly NonNullable<ExpertLayout['dispatcher']>[];
  readonly balances: readonly NonNullable<ExpertLayout['balance']>[];
  readonly attention: readonly Attention[];
  readonly precisions: readonly NonNullable<Kernel['precision']>[];
  readonly checkpointFormats: readonly LayoutCheckpointFormat[];
  /** What a user should do with an option that the engine does not support; absent: leave it out. */
  readonly wayOut?: string;
}

const DEGREES = ['tensorParallelDegree', 'pipelineParallelDegree', 'dataParallelDegree'];

const MEGATRON_OPTIONS = [
  ...DEGREES,
  'contextParallelDegree',
  'dataParallelShardDegree',
  'weightShardDegree',
  'rankOrder',
  'expert.expertParallelDegree',
  'expert.expertTensorParallelDegree',
  'expert.weightShardDegree',
  'expert.dispatcher',
  'expert.capacityFactor',
  'expert.padToCapacity',
  'expert.tokenDropOrder',
  'expert.balance',
  'pipeline.schedule',
  'pipeline.chunksPerRank',
  'pipeline.microBatchGroupSize',
  'pipeline.stages',
  'pipeline.vocabulary',
  'sequence.sequenceParallel',
  'sequence.contextAlgorithm',
  'sequence.ulyssesDegree',
  'sequence.perLayerKind',
  'sequence.causalBalance',
  'sequence.dynamic',
  'states.zeroStage',
  'states.implementation',
  'states.optimizerInstances',
  'states.optimizer',
  'states.gradientPrecision',
  'states.optimizerPrecision',
  'states.precisionAwareOptimizer',
  'memory.recompute',
  'memory.offload.what',
  'memory.offload.to',
  'memory.offload.fraction',
  'memory.offload.modules',
  'memory.offload.overlap',
  'memory.hostMemoryGibPerGpu',
  'communication',
  'kernel',
  'checkpointPolicy',
];

/** Forks and users of an older Megatron-LM lack what came to it in 2026. */
const OLDER_MEGATRON_OPTIONS = MEGATRON_OPTIONS.filter(
  (option) => !['weightShardDegree', 'expert.weightShardDegree', 'sequence.dynamic'].includes(option),
);

const TORCHTITAN_OPTIONS = [
  ...DEGREES,
  'contextParallelDegree',
  'dataParallelShardDegree',
  'expert.expertParallelDegree',
  'expert.expertTensorParallelDegree',
  'expert.dispatcher',
  'expert.balance',
  'pipeline.schedule',
  'pipeline.chunksPerRank',
  'pipeline.stages',
  'pipeline.vocabulary',
  'pipeline.scheduleFile',
  'sequence.sequenceParallel',
  'sequence.contextAlgorithm',
  'sequence.causalBalance',
  'states.zeroStage',
  'states.implementation',
  'states.reshardAfterForward',
  'states.optimizer',
  'memory.recompute',
  'memory.offload.what',
  'memory.offload.to',
  'memory.hostMemoryGibPerGpu',
  'communication.overlapGradReduce',
  'communication.overlapParamGather',
  'communication.overlapTensorParallel',
  'communication.timeoutMinutes',
  'kernel',
  'checkpointPolicy.format',
  'checkpointPolicy.asyncSave',
];

const DEEPSPEED_OPTIONS = [
  ...DEGREES,
  'contextParallelDegree',
  'dataParallelShardDegree',
  'expert.expertParallelDegree',
  'expert.expertTensorParallelDegree',
  'expert.dispatcher',
  'expert.capacityFactor',
  'expert.tokenDropOrder',
  'expert.balance',
  'pipeline.schedule',
  'pipeline.stages',
  'pipeline.vocabulary',
  'sequence.sequenceParallel',
  'sequence.contextAlgorithm',
  'states.zeroStage',
  'states.implementation',
  'states.secondaryShardDegree',
  'states.optimizer',
  'states.gradientPrecision',
  'memory.recompute',
  'memory.offload.what',
  'memory.offload.to',
  'memory.offload.fraction',
  'memory.offload.overlap',
  'memory.offload.subgroupElements',
  'memory.hostMemoryGibPerGpu',
  'communication.overlapGradReduce',
  'communication.overlapParamGather',
  'communication.timeoutMinutes',
  'kernel',
  'checkpointPolicy.format',
  'checkpointPolicy.asyncSave',
];

const MEGATRON: EngineCapabilities = {
  source: 'NVIDIA/Megatron-LM d98e8a64dd',
  options: MEGATRON_OPTIONS,
  schedules: ['1f1b', 'interleaved-1f1b'],
  vocabularies: ['end-stages', 'counted-as-layer'],
  contextAlgorithms: ['ring', 'dist-flash', 'allgather', 'ulysses', 'ulysses-ring'],
  dynamic: ['hybrid-data-parallel'],
  zeroStages: [0, 1, 2, 3],
  optimizers: ['adamw', 'sgd', 'lion', 'muon'],
  offloads: ['optimizer', 'activations'],
  expertTensor: true,
  dispatchers: ['allgather', 'alltoall', 'deepep', 'hybridep', 'ncclep'],
  balances: ['none', 'aux-loss', 'bias'],
  attention: ['auto', 'flash', 'fused', 'unfused', 'local'],
  precisions: ['fp32', 'fp16', 'bf16', 'fp8', 'mxfp8', 'nvfp4'],
  checkpointFormats: FORMATS_BY_FAMILY.megatron,
};

/** An engine that receives degrees and nothing else. */
const DEGREES_ONLY: EngineCapabilities = {
  source: 'engines/reference of this project',
  options: DEGREES,
  schedules: ['1f1b'],
  vocabularies: ['end-stages'],
  contextAlgorithms: [],
  dynamic: [],
  zeroStages: [0],
  optimizers: ['adamw'],
  offloads: [],
  expertTensor: false,
  dispatchers: [],
  balances: [],
  attention: ['auto'],
  precisions: ['fp32', 'bf16'],
  checkpointFormats: [],
};

const TORCHTITAN: EngineCapabilities = {
  ...MEGATRON,
  source: 'pytorch/torchtitan b5bcd76c6',
  options: TORCHTITAN_OPTIONS,
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
  precisions: ['fp32', 'bf16', 'fp8', 'mxfp8'],
  checkpointFormats: FORMATS_BY_FAMILY.torchtitan,
};

const DEEPSPEED: EngineCapabilities = {
  ...MEGATRON,
  source: 'deepspeedai/DeepSpeed edaa72212',
  options: DEEPSPEED_OPTIONS,
  schedules: ['1f1b'],
  vocabularies: ['end-stages'],
  contextAlgorithms: ['ulysses'],
  dynamic: [],
  optimizers: ['adamw', 'sgd', 'lion', 'muon', 'lamb'],
  offloads: ['optimizer', 'parameters', 'activations'],
  expertTensor: true,
  dispatchers: ['alltoall'],
  balances: ['none', 'aux-loss'],
  attention: ['auto', 'flash'],
  precisions: ['fp32', 'fp16', 'bf16'],
  checkpointFormats: FORMATS_BY_FAMILY.deepspeed,
};

/** The options that each engine supports; a fork has a row of its own. Read in the repositories named in `source`, at those commits. */
export const ENGINE_CAPABILITIES: Readonly<Record<LayoutEngine, EngineCapabilities>> = {
  reference: DEGREES_ONLY,
  command: {
    ...DEGREES_ONLY,
    source: 'any program, started as given',
    options: [...DEGREES, 'contextParallelDegree'],
    wayOut: 'give it to the program in engine.args',
  },
  'megatron-lm': MEGATRON,
  'megatron-bridge': { ...MEGATRON, source: 'NVIDIA-NeMo/Megatron-Bridge v0.3.1, v0.5.1, 067f987df' },
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
    options: [...OLDER_MEGATRON_OPTIONS, 'sequence.dynamic', 'perLayer'],
    schedules: ['1f1b', 'gpipe'],
    vocabularies: ['end-stages'],
    contextAlgorithms: ['ring', 'ulysses'],
    dynamic: ['flexsp'],
    optimizers: ['adamw'],
    offloads: [],
    balances: ['none', 'aux-loss'],
    checkpointFormats: FORMATS_BY_FAMILY.galvatron,
  },
  mindspeed: {
    ...MEGATRON,
    source: 'Ascend/MindSpeed 028de58c, MindSpeed-LLM c77308a1, MindSpeed-MM 57069cd5',
    options: OLDER_MEGATRON_OPTIONS,
    schedules: ['1f1b', 'interleaved-1f1b', 'dualpipe-v'],
    dynamic: [],
  },
  mindformers: {
    ...MEGATRON,
    source: 'mindspore-lab/mindformers fd4deebc1',
    options: [...OLDER_MEGATRON_OPTIONS, 'tensorPlacements'],
    checkpointFormats: FORMATS_BY_FAMILY.mindspore,
    contextAlgorithms: [],
    dynamic: [],
    zeroStages: [0, 1],
    optimizers: ['adamw'],
    offloads: [],
    balances: ['none', 'aux-loss'],
    dispatchers: ['alltoall'],
  },
  flagscale: { ...MEGATRON, source: 'FlagOpen/FlagScale da4935ec6', options: OLDER_MEGATRON_OPTIONS, dynamic: [] },
  colossalai: {
    ...MEGATRON,
    source: 'hpcaitech/ColossalAI 4f9953be3',
    options: OLDER_MEGATRON_OPTIONS,
    schedules: ['1f1b', 'interleaved-1f1b', 'zbv'],
    vocabularies: ['end-stages'],
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
    options: [
      ...DEGREES,
      'pipeline.schedule',
      'pipeline.stages',
      'states.zeroStage',
      'states.optimizer',
      'memory.recompute',
      'kernel',
      'tensorPlacements',
    ],
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
    options: ['tensorParallelDegree', 'dataParallelDegree', 'tensorPlacements', 'kernel.precision'],
  },
  areal: { ...MEGATRON, source: 'inclusionAI/AReaL 4aef98d8d', options: OLDER_MEGATRON_OPTIONS, dynamic: [] },
  verl: {
    ...MEGATRON,
    source: 'verl-project/verl 1dda039b9',
    options: [...OLDER_MEGATRON_OPTIONS, 'sequence.dynamic'],
  },
  'nemo-rl': { ...MEGATRON, source: 'NVIDIA-NeMo/RL 7ea279abf', options: OLDER_MEGATRON_OPTIONS, dynamic: [] },
  'zero-bubble': {
    ...MEGATRON,
    source: 'sail-sg/zero-bubble-pipeline-parallelism 39f2c186',
    options: OLDER_MEGATRON_OPTIONS,
    schedules: ['1f1b', 'interleaved-1f1b', 'zb-h1', 'zb-2p', 'zbv', 'v-half', 'v-min'],
    dynamic: [],
  },
  'vocabulary-parallelism': {
    ...MEGATRON,
    source: 'sail-sg/VocabularyParallelism 6191c3bf',
    options: [...OLDER_MEGATRON_OPTIONS, 'pipeline.vocabularyBarriers'],
    schedules: ['1f1b', 'v-half'],
    vocabularies: ['end-stages', 'counted-as-layer', 'sharded-over-pp', 'interlaced'],
    dynamic: [],
  },
  skippipe: {
    ...DEGREES_ONLY,
    source: 'gensyn-ai/skippipe 7f20d8a',
    options: [
      'pipelineParallelDegree',
      'dataParallelDegree',
      'pipeline.schedule',
      'pipeline.scheduleFile',
      'pipeline.skipRatio',
      'pipeline.protectedStages',
    ],
    schedules: ['gpipe', 'partial-paths'],
  },
  'deep-optimizer-states': {
    ...DEEPSPEED,
    source: 'DataStates/DeepSpeed 6f061899, branch deep-optimizer-states',
    options: [...DEEPSPEED_OPTIONS, 'memory.offload.gpuStride'],
  },
  'linear-moe': {
    ...MEGATRON,
    source: 'OpenSparseLLMs/Linear-MoE b312754',
    options: OLDER_MEGATRON_OPTIONS,
    contextAlgorithms: ['allgather', 'state-allgather'],
    dynamic: [],
  },
  zo2: {
    ...DEGREES_ONLY,
    source: 'liangyuwang/zo2 4bca25c; its distributed part is not in the repository',
    options: [
      'states.optimizer',
      'memory.offload.what',
      'memory.offload.to',
      'memory.offload.overlap',
      'memory.hostMemoryGibPerGpu',
      'kernel.precision',
    ],
    optimizers: ['mezo-sgd'],
    offloads: ['layers'],
  },
  'natural-galore': {
    ...DEGREES_ONLY,
    source: 'selfsupervised-ai/Natural-GaLore e23336d',
    options: ['dataParallelDegree', 'states.optimizer', 'states.lowRank', 'kernel.precision'],
    optimizers: ['adamw', 'galore', 'natural-galore'],
  },
  rcm: {
    ...DEGREES_ONLY,
    source: 'NVlabs/rcm 5b41aa9',
    options: [
      'dataParallelDegree',
      'contextParallelDegree',
      'dataParallelShardDegree',
      'sequence.contextAlgorithm',
      'sequence.causalBalance',
      'states.zeroStage',
      'states.implementation',
      'kernel',
      'checkpointPolicy.format',
    ],
    checkpointFormats: FORMATS_BY_FAMILY.torchtitan,
    contextAlgorithms: ['ulysses'],
    zeroStages: [0, 3],
  },
  'hugging-face': {
    ...DEGREES_ONLY,
    source: 'huggingface/transformers 5.23.0 with accelerate 1.15.0',
    options: [
      'dataParallelDegree',
      'dataParallelShardDegree',
      'states.zeroStage',
      'states.implementation',
      'states.reshardAfterForward',
      'memory.recompute',
      'kernel.precision',
      'kernel.deterministic',
      'kernel.compile',
    ],
    zeroStages: [0, 1, 2, 3],
    precisions: ['fp32', 'fp16', 'bf16'],
    checkpointFormats: [],
  },
  custom: {
    ...MEGATRON,
    source: 'an image of the user’s own that reads the layout itself',
    options: [
      ...MEGATRON_OPTIONS,
      'expert.overlapDegree',
      'expert.adaptiveDegree',
      'states.lowRank',
      'states.reshardAfterForward',
      'perLayer',
      'tensorPlacements',
    ],
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
    checkpointFormats: FORMATS_BY_FAMILY.custom,
  },
};
