/**
 * A layout as people write it (ParallelLayout) and as the models read it (LayoutPoint): what of the one the other holds.
 *
 * Both directions take the model, because a layout that says nothing of experts means another thing for a model that has some.
 */
import { DomainError, type Violation } from '@coxswain/domain-error';
import type { ModelShape, OffloadRule, ParallelLayout, RankAxis } from '@coxswain/layout';
import { RANK_ORDERS, SCHEDULES, type LayoutPoint, type RankOrder, type Schedule, type StagePart } from '../facts.ts';

type HasExperts = Pick<ModelShape, 'experts'>;

const AXIS_NAMES: Readonly<Record<string, RankAxis>> = { tp: 'tensor', cp: 'context', dp: 'data', pp: 'pipeline' };
const IMPLEMENTATIONS = {
  ddp: 'ddp',
  'distributed-optimizer': 'distopt',
  'megatron-fsdp': 'fsdp',
  fsdp2: 'fsdp',
  deepspeed: 'deepspeed',
} as const;
const IMPLEMENTATION_NAMES = {
  ddp: 'ddp',
  distopt: 'distributed-optimizer',
  fsdp: 'megatron-fsdp',
  deepspeed: 'deepspeed',
} as const;
const DISPATCHERS = {
  allgather: 'allgather',
  alltoall: 'alltoall',
  'alltoall-2d': 'alltoall',
  deepep: 'deepep',
  hybridep: 'hybridep',
  ncclep: 'alltoall',
} as const;
/** Algorithms that move what ring, all-gather or all-to-all move; the rest is refused. */
const CONTEXT_ALGORITHMS = {
  ring: 'ring',
  'ring-self-attention': 'ring',
  'dist-flash': 'ring',
  magi: 'ring',
  allgather: 'allgather',
  ulysses: 'ulysses',
} as const;

/**
 * The layout that a point describes; what the engine does anyway is left out. `microBatchSize` is not part of a layout, and
 * `hostMemoryGibPerGpu` (asked for where something is offloaded) not of a point.
 */
export function layoutOfPoint(point: LayoutPoint, model: HasExperts, hostMemoryGibPerGpu?: number): ParallelLayout {
  const allData = point.data * point.context;
  return {
    tensorParallelDegree: point.tensor,
    pipelineParallelDegree: point.pipeline,
    dataParallelDegree: point.data,
    ...(point.context === 1 ? {} : { contextParallelDegree: point.context }),
    ...(point.shardGroup === allData ? {} : { dataParallelShardDegree: point.shardGroup }),
    ...rankOrderOf(point, model),
    ...expertOf(point, model),
    ...pipelineOf(point),
    ...sequenceOf(point),
    ...(point.zeroStage === 0 && point.zeroImplementation === 'ddp'
      ? {}
      : {
          states: {
            zeroStage: point.zeroStage,
            implementation: IMPLEMENTATION_NAMES[point.zeroImplementation],
            ...(point.offloadOptimizer > 0 ? { precisionAwareOptimizer: true } : {}),
          },
        }),
    ...memoryOf(point, hostMemoryGibPerGpu),
    ...communicationOf(point),
    ...(point.cudaGraphs === 'none' ? {} : { kernel: { cudaGraphs: point.cudaGraphs } }),
  };
}

function rankOrderOf(point: LayoutPoint, model: HasExperts): Pick<ParallelLayout, 'rankOrder'> {
  if (point.rankOrder === undefined || point.rankOrder === RANK_ORDERS[0]) return {};
  const axes = point.rankOrder.split('-').flatMap((short) => AXIS_NAMES[short] ?? []);
  if (model.experts === undefined) return { rankOrder: axes };
  return { rankOrder: axes.flatMap((axis) => (axis === 'data' ? ['expert' as const, axis] : [axis])) };
}

function expertOf(point: LayoutPoint, model: HasExperts): Pick<ParallelLayout, 'expert'> {
  if (model.experts === undefined) return {};
  return {
    expert: {
      expertParallelDegree: point.expert,
      expertTensorParallelDegree: point.expertTensor,
      dispatcher: point.dispatcher,
      ...(point.expertCapacity === undefined ? {} : { capacityFactor: point.expertCapacity }),
    },
  };
}

function pipelineOf(point: LayoutPoint): Pick<ParallelLayout, 'pipeline'> {
  if (point.pipeline === 1 && point.chunks === 1 && point.vocabulary === 'end-stages') return {};
  const sharded = point.vocabulary === 'sharded-over-pp';
  return {
    pipeline: {
      schedule: point.schedule,
      ...(point.chunks === 1 ? {} : { chunksPerRank: point.chunks }),
      ...(point.stages === undefined ? {} : { stages: point.stages.map(listedStageOf) }),
      ...(point.vocabulary === 'end-stages' ? {} : { vocabulary: point.vocabulary }),
      ...(sharded ? { vocabularyBarriers: point.vocabularyBarriers } : {}),
    },
  };
}

function listedStageOf(stage: StagePart): NonNullable<NonNullable<ParallelLayout['pipeline']>['stages']>[number] {
  return {
    layers: stage.layers,
    ...(stage.embedding ? { embedding: true } : {}),
    ...(stage.loss ? { loss: true } : {}),
    ...(stage.mtpLayers > 0 ? { mtpLayers: stage.mtpLayers } : {}),
  };
}

function sequenceOf(point: LayoutPoint): Pick<ParallelLayout, 'sequence'> {
  if (!point.sequenceParallel && point.context === 1) return {};
  return {
    sequence: {
      ...(point.sequenceParallel ? { sequenceParallel: true } : {}),
      ...(point.context > 1 ? { contextAlgorithm: point.contextAlgorithm } : {}),
    },
  };
}

function memoryOf(point: LayoutPoint, hostMemoryGibPerGpu: number | undefined): Pick<ParallelLayout, 'memory'> {
  const offload: OffloadRule[] = [];
  if (point.offloadOptimizer > 0) offload.push({ what: 'optimizer', fraction: point.offloadOptimizer });
  if (point.offloadActivations > 0) offload.push({ what: 'activations', fraction: point.offloadActivations });
  if (point.offloadWeights > 0) offload.push({ what: 'parameters', fraction: point.offloadWeights });
  if (point.recompute === 'none' && offload.length === 0) return {};
  return {
    memory: {
      ...(point.recompute === 'none' ? {} : { recompute: recomputeOf(point) }),
      ...(offload.length === 0 ? {} : { offload }),
      ...(offload.length === 0 || hostMemoryGibPerGpu === undefined ? {} : { hostMemoryGibPerGpu }),
    },
  };
}

function recomputeOf(point: LayoutPoint): NonNullable<NonNullable<ParallelLayout['memory']>['recompute']> {
  if (point.recompute === 'selective') return { mode: 'selective', modules: [...point.recomputeModules] };
  if (point.recomputeLayersPerChunk === undefined) return { mode: 'full', method: 'uniform', layers: 1 };
  return { mode: 'full', method: 'block', layers: point.recomputeLayersPerChunk };
}

function communicationOf(point: LayoutPoint): Pick<ParallelLayout, 'communication'> {
  const communication = {
    ...(point.overlapTensor ? { overlapTensorParallel: true } : {}),
    ...(point.overlapGradReduce ? { overlapGradReduce: true } : {}),
    ...(point.overlapParamGather ? { overlapParamGather: true } : {}),
    ...(point.overlapExpert ? { overlapExpertParallel: true } : {}),
  };
  return Object.keys(communication).length === 0 ? {} : { communication };
}

/**
 * What the models read of a layout. What time and memory do not depend on (kernel determinism, checkpoint policy, …) is left out.
 *
 * @throws DomainError INVALID_LAYOUT with one violation per choice that the models do not cover, each with the nearest one they do.
 */
export function pointOfLayout(layout: ParallelLayout, model: HasExperts, microBatchSize: number): LayoutPoint {
  const uncovered = uncoveredChoices(layout);
  if (uncovered.length > 0) {
    const [first] = uncovered;
    throw new DomainError('INVALID_LAYOUT', `layout${first?.pointer ?? ''}: ${first?.detail ?? ''}`, uncovered);
  }
  const context = layout.contextParallelDegree ?? 1;
  const chunks = layout.pipeline?.chunksPerRank ?? 1;
  const zeroStage = zeroStageOf(layout);
  const stages = layout.pipeline?.stages?.map(stagePartOf);
  const blockLayers = blockLayersOf(layout);
  const rankOrder = readRankOrder(layout);
  const capacity = layout.expert?.capacityFactor;
  return {
    tensor: layout.tensorParallelDegree,
    context,
    pipeline: layout.pipelineParallelDegree,
    data: layout.dataParallelDegree,
    shardGroup: layout.dataParallelShardDegree ?? layout.dataParallelDegree * context,
    ...expertDegreesOf(layout, model),
    ...(rankOrder === undefined || rankOrder === RANK_ORDERS[0] ? {} : { rankOrder }),
    sequenceParallel: layout.sequence?.sequenceParallel ?? false,
    contextAlgorithm: contextAlgorithmOf(layout) ?? 'ring',
    schedule: scheduleOf(layout) ?? (chunks > 1 ? 'interleaved-1f1b' : '1f1b'),
    chunks,
    ...(stages === undefined ? {} : { stages }),
    vocabulary: layout.pipeline?.vocabulary ?? 'end-stages',
    vocabularyBarriers: layout.pipeline?.vocabularyBarriers === 2 ? 2 : 1,
    zeroStage,
    zeroImplementation: implementationOf(layout, zeroStage),
    ...recomputationOf(layout),
    ...(blockLayers === undefined ? {} : { recomputeLayersPerChunk: blockLayers }),
    offloadOptimizer: offloadShare(layout, 'optimizer'),
    offloadActivations: offloadShare(layout, 'activations'),
    offloadWeights: offloadShare(layout, 'parameters'),
    microBatchSize,
    overlapTensor: layout.communication?.overlapTensorParallel ?? false,
    overlapGradReduce: layout.communication?.overlapGradReduce ?? false,
    overlapParamGather: layout.communication?.overlapParamGather ?? false,
    overlapExpert: layout.communication?.overlapExpertParallel ?? false,
    dispatcher: DISPATCHERS[layout.expert?.dispatcher ?? 'alltoall'],
    ...(capacity === undefined ? {} : { expertCapacity: capacity }),
    cudaGraphs: layout.kernel?.cudaGraphs ?? 'none',
  };
}

/** Choices of a layout that neither the time nor the memory model knows, with what to write instead. */
function uncoveredChoices(layout: ParallelLayout): readonly Violation[] {
  const { pipeline, sequence, expert } = layout;
  const found: Violation[] = [];
  const uncovered = (pointer: string, value: string | number, instead: string): void => {
    found.push({ pointer, detail: `${value} has no time or memory model; ${instead}` });
  };
  if (pipeline?.schedule !== undefined && scheduleOf(layout) === undefined) {
    uncovered('/pipeline/schedule', pipeline.schedule, 'predict it as 1f1b, or interleaved-1f1b with several chunks');
  }
  if (sequence?.contextAlgorithm !== undefined && contextAlgorithmOf(layout) === undefined) {
    uncovered('/sequence/contextAlgorithm', sequence.contextAlgorithm, 'predict it as ring, allgather or ulysses');
  }
  if (sequence?.perLayerKind !== undefined) {
    uncovered('/sequence/perLayerKind', 'an algorithm per kind of layer', 'give contextAlgorithm for all layers');
  }
  if (sequence?.dynamic !== undefined) {
    uncovered('/sequence/dynamic', sequence.dynamic.method, 'predict the static layout with contextParallelDegree');
  }
  if ((layout.weightShardDegree ?? 1) > 1) {
    uncovered('/weightShardDegree', layout.weightShardDegree ?? 1, 'predict it with states.zeroStage 3');
  }
  if ((expert?.weightShardDegree ?? 1) > 1) {
    uncovered('/expert/weightShardDegree', expert?.weightShardDegree ?? 1, 'predict it with states.zeroStage 3');
  }
  if (layout.perLayer !== undefined && layout.perLayer.length > 0) {
    uncovered('/perLayer', 'a layout that differs by layer', 'predict the layout that most layers have');
  }
  if (layout.memory?.recompute?.mode === 'budget') {
    uncovered('/memory/recompute/mode', 'budget', 'predict it as selective with the modules that are recomputed');
  }
  for (const [index, rule] of (layout.memory?.offload ?? []).entries()) {
    if (rule.what !== 'layers') continue;
    uncovered(`/memory/offload/${index}/what`, 'layers', 'predict it as what: parameters with the share that is away');
  }
  const optimizer = layout.states?.optimizer;
  if (optimizer !== undefined && optimizer !== 'adamw') {
    uncovered('/states/optimizer', optimizer, 'predict it as adamw, which needs more memory');
  }
  if (layout.rankOrder !== undefined && readRankOrder(layout) === undefined) {
    uncovered('/rankOrder', layout.rankOrder.join(', '), 'tensor must come first, then context, data and pipeline');
  }
  return found;
}

function scheduleOf(layout: ParallelLayout): Schedule | undefined {
  return SCHEDULES.find((schedule) => schedule === layout.pipeline?.schedule);
}

function contextAlgorithmOf(layout: ParallelLayout): LayoutPoint['contextAlgorithm'] | undefined {
  const algorithm = layout.sequence?.contextAlgorithm ?? 'ring';
  return algorithm in CONTEXT_ALGORITHMS ? CONTEXT_ALGORITHMS[algorithm as keyof typeof CONTEXT_ALGORITHMS] : undefined;
}

function readRankOrder(layout: ParallelLayout): RankOrder | undefined {
  if (layout.rankOrder === undefined) return RANK_ORDERS[0];
  const shorts = layout.rankOrder.flatMap(
    (axis) => Object.keys(AXIS_NAMES).find((short) => AXIS_NAMES[short] === axis) ?? [],
  );
  const text = shorts.join('-');
  return RANK_ORDERS.find((order) => order === text);
}

function expertDegreesOf(layout: ParallelLayout, model: HasExperts): { expert: number; expertTensor: number } {
  if (model.experts === undefined) return { expert: 1, expertTensor: 1 };
  return {
    expert: layout.expert?.expertParallelDegree ?? 1,
    expertTensor: layout.expert?.expertTensorParallelDegree ?? layout.tensorParallelDegree,
  };
}

function stagePartOf(stage: {
  readonly layers: number;
  readonly embedding?: boolean | undefined;
  readonly loss?: boolean | undefined;
  readonly mtpLayers?: number | undefined;
}): StagePart {
  return {
    layers: stage.layers,
    embedding: stage.embedding ?? false,
    loss: stage.loss ?? false,
    mtpLayers: stage.mtpLayers ?? 0,
  };
}

function zeroStageOf(layout: ParallelLayout): 0 | 1 | 2 | 3 {
  switch (layout.states?.zeroStage) {
    case 1:
      return 1;
    case 2:
      return 2;
    case 3:
      return 3;
    default:
      return 0;
  }
}

function implementationOf(layout: ParallelLayout, zeroStage: 0 | 1 | 2 | 3): LayoutPoint['zeroImplementation'] {
  const named = layout.states?.implementation;
  if (named !== undefined) return IMPLEMENTATIONS[named];
  if (zeroStage === 0) return 'ddp';
  return zeroStage === 1 ? 'distopt' : 'fsdp';
}

function recomputationOf(layout: ParallelLayout): Pick<LayoutPoint, 'recompute' | 'recomputeModules'> {
  const recompute = layout.memory?.recompute;
  switch (recompute?.mode) {
    case 'selective':
      return { recompute: 'selective', recomputeModules: recompute.modules ?? ['core_attn'] };
    case 'full':
      return { recompute: 'full', recomputeModules: [] };
    default:
      return { recompute: 'none', recomputeModules: [] };
  }
}

function blockLayersOf(layout: ParallelLayout): number | undefined {
  const recompute = layout.memory?.recompute;
  return recompute?.mode === 'full' && recompute.method === 'block' ? (recompute.layers ?? 1) : undefined;
}

function offloadShare(layout: ParallelLayout, what: OffloadRule['what']): number {
  const shares = (layout.memory?.offload ?? []).filter((rule) => rule.what === what).map((rule) => rule.fraction ?? 1);
  return Math.min(
    1,
    shares.reduce((sum, share) => sum + share, 0),
  );
}
