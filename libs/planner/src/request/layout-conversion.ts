/**
 * Converts between ParallelLayout, which users write, and CandidateLayout, which the models read.
 *
 * Both directions need the model, because a layout without `expert` has another meaning for a model with experts.
 */
import { DomainError, type Violation } from '@coxswain/domain-error';
import {
  type ModelShape,
  type OffloadRule,
  type ParallelLayout,
  type RankAxis,
  resolveDispatcher,
  resolveOffloadedShare,
  resolveStateImplementation,
  resolveZeroStage,
} from '@coxswain/layout';
import {
  RANK_ORDERS,
  SCHEDULES,
  type CandidateLayout,
  type RankOrder,
  type Schedule,
  type StagePart,
} from '../facts.ts';

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
/** Algorithms with the traffic of a ring, an all-gather or an all-to-all; others are rejected. */
const CONTEXT_ALGORITHMS = {
  ring: 'ring',
  'ring-self-attention': 'ring',
  'dist-flash': 'ring',
  magi: 'ring',
  allgather: 'allgather',
  ulysses: 'ulysses',
} as const;

/**
 * The layout of a candidate, without options that equal the engine's defaults. `microBatchSize` is not part of a layout, and
 * `hostMemoryGibPerGpu` (needed for offloading) is not part of a candidate.
 */
export function layoutOfCandidate(
  candidate: CandidateLayout,
  model: HasExperts,
  hostMemoryGibPerGpu?: number,
): ParallelLayout {
  const allData = candidate.data * candidate.context;
  return {
    tensorParallelDegree: candidate.tensor,
    pipelineParallelDegree: candidate.pipeline,
    dataParallelDegree: candidate.data,
    ...(candidate.context === 1 ? {} : { contextParallelDegree: candidate.context }),
    ...(candidate.shardGroup === allData ? {} : { dataParallelShardDegree: candidate.shardGroup }),
    ...rankOrderOf(candidate, model),
    ...expertOf(candidate, model),
    ...pipelineOf(candidate),
    ...sequenceOf(candidate),
    ...(candidate.zeroStage === 0 && candidate.zeroImplementation === 'ddp'
      ? {}
      : {
          states: {
            zeroStage: candidate.zeroStage,
            implementation: IMPLEMENTATION_NAMES[candidate.zeroImplementation],
            ...(candidate.offloadOptimizer > 0 ? { precisionAwareOptimizer: true } : {}),
          },
        }),
    ...memoryOf(candidate, hostMemoryGibPerGpu),
    ...communicationOf(candidate),
    ...(candidate.cudaGraphs === 'none' ? {} : { kernel: { cudaGraphs: candidate.cudaGraphs } }),
  };
}

function rankOrderOf(candidate: CandidateLayout, model: HasExperts): Pick<ParallelLayout, 'rankOrder'> {
  if (candidate.rankOrder === undefined || candidate.rankOrder === RANK_ORDERS[0]) return {};
  const axes = candidate.rankOrder.split('-').flatMap((short) => AXIS_NAMES[short] ?? []);
  if (model.experts === undefined) return { rankOrder: axes };
  return { rankOrder: axes.flatMap((axis) => (axis === 'data' ? ['expert' as const, axis] : [axis])) };
}

function expertOf(candidate: CandidateLayout, model: HasExperts): Pick<ParallelLayout, 'expert'> {
  if (model.experts === undefined) return {};
  return {
    expert: {
      expertParallelDegree: candidate.expert,
      expertTensorParallelDegree: candidate.expertTensor,
      dispatcher: candidate.dispatcher,
      ...(candidate.expertCapacity === undefined ? {} : { capacityFactor: candidate.expertCapacity }),
    },
  };
}

function pipelineOf(candidate: CandidateLayout): Pick<ParallelLayout, 'pipeline'> {
  if (candidate.pipeline === 1 && candidate.chunks === 1 && candidate.vocabulary === 'end-stages') return {};
  const sharded = candidate.vocabulary === 'sharded-over-pp';
  return {
    pipeline: {
      schedule: candidate.schedule,
      ...(candidate.chunks === 1 ? {} : { chunksPerRank: candidate.chunks }),
      ...(candidate.stages === undefined ? {} : { stages: candidate.stages.map(listedStageOf) }),
      ...(candidate.vocabulary === 'end-stages' ? {} : { vocabulary: candidate.vocabulary }),
      ...(sharded ? { vocabularyBarriers: candidate.vocabularyBarriers } : {}),
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

function sequenceOf(candidate: CandidateLayout): Pick<ParallelLayout, 'sequence'> {
  if (!candidate.sequenceParallel && candidate.context === 1) return {};
  return {
    sequence: {
      ...(candidate.sequenceParallel ? { sequenceParallel: true } : {}),
      ...(candidate.context > 1 ? { contextAlgorithm: candidate.contextAlgorithm } : {}),
    },
  };
}

function memoryOf(candidate: CandidateLayout, hostMemoryGibPerGpu: number | undefined): Pick<ParallelLayout, 'memory'> {
  const offload: OffloadRule[] = [];
  if (candidate.offloadOptimizer > 0) offload.push({ what: 'optimizer', fraction: candidate.offloadOptimizer });
  if (candidate.offloadActivations > 0) offload.push({ what: 'activations', fraction: candidate.offloadActivations });
  if (candidate.offloadWeights > 0) offload.push({ what: 'parameters', fraction: candidate.offloadWeights });
  if (candidate.recompute === 'none' && offload.length === 0) return {};
  return {
    memory: {
      ...(candidate.recompute === 'none' ? {} : { recompute: recomputeOf(candidate) }),
      ...(offload.length === 0 ? {} : { offload }),
      ...(offload.length === 0 || hostMemoryGibPerGpu === undefined ? {} : { hostMemoryGibPerGpu }),
    },
  };
}

/** The recomputation options of a layout. */
export type Recompute = NonNullable<NonNullable<ParallelLayout['memory']>['recompute']>;

/** The recomputation options of a candidate that recomputes something. */
export function recomputeOf(
  candidate: Pick<CandidateLayout, 'recompute' | 'recomputeModules' | 'recomputeLayersPerChunk'>,
): Recompute {
  if (candidate.recompute === 'selective') return { mode: 'selective', modules: [...candidate.recomputeModules] };
  if (candidate.recomputeLayersPerChunk === undefined) return { mode: 'full', method: 'uniform', layers: 1 };
  return { mode: 'full', method: 'block', layers: candidate.recomputeLayersPerChunk };
}

function communicationOf(candidate: CandidateLayout): Pick<ParallelLayout, 'communication'> {
  const communication = {
    ...(candidate.overlapTensor ? { overlapTensorParallel: true } : {}),
    ...(candidate.overlapGradReduce ? { overlapGradReduce: true } : {}),
    ...(candidate.overlapParamGather ? { overlapParamGather: true } : {}),
    ...(candidate.overlapExpert ? { overlapExpertParallel: true } : {}),
  };
  return Object.keys(communication).length === 0 ? {} : { communication };
}

/**
 * The candidate of a layout. Options that time and memory do not depend on (kernel determinism, checkpoint policy, …) are ignored.
 *
 * @throws DomainError INVALID_LAYOUT with one violation for each option that the models do not cover, each with the nearest covered one.
 */
export function candidateOfLayout(layout: ParallelLayout, model: HasExperts, microBatchSize: number): CandidateLayout {
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
    zeroImplementation: implementationOf(layout),
    ...recomputationOf(layout),
    ...(blockLayers === undefined ? {} : { recomputeLayersPerChunk: blockLayers }),
    offloadOptimizer: resolveOffloadedShare(layout, 'optimizer'),
    offloadActivations: resolveOffloadedShare(layout, 'activations'),
    offloadWeights: resolveOffloadedShare(layout, 'parameters'),
    microBatchSize,
    overlapTensor: layout.communication?.overlapTensorParallel ?? false,
    overlapGradReduce: layout.communication?.overlapGradReduce ?? false,
    overlapParamGather: layout.communication?.overlapParamGather ?? false,
    overlapExpert: layout.communication?.overlapExpertParallel ?? false,
    dispatcher: DISPATCHERS[resolveDispatcher(layout)],
    ...(capacity === undefined ? {} : { expertCapacity: capacity }),
    cudaGraphs: layout.kernel?.cudaGraphs ?? 'none',
  };
}

/** Options of a layout without a time or memory model, each with an alternative. */
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
    uncovered(
      `/memory/offload/${index}/what`,
      'layers',
      'predict it as what: parameters with the offloaded share as fraction',
    );
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

function contextAlgorithmOf(layout: ParallelLayout): CandidateLayout['contextAlgorithm'] | undefined {
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
  switch (resolveZeroStage(layout)) {
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

function implementationOf(layout: ParallelLayout): CandidateLayout['zeroImplementation'] {
  return IMPLEMENTATIONS[resolveStateImplementation(undefined, layout)];
}

function recomputationOf(layout: ParallelLayout): Pick<CandidateLayout, 'recompute' | 'recomputeModules'> {
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
