import { stagePartsOf } from '../stages.ts';
import type { LayoutPoint } from '../facts.ts';
import { FRONT_SLOWDOWN, rankingOf, type MeasuredLayout } from '../search/kept-layouts.ts';
import type { SearchLimits } from '../search/branch-and-bound.ts';
import { decidedPoint, fastestAlgorithm } from '../search/decided-layout.ts';
import type { Bounds, LayoutModels } from '../search/layout-models.ts';
import { orderOf } from '../search/layout-order.ts';
import {
  denseMeshesOf,
  expertGridsOf,
  pipelineChoicesOf,
  pointOfMesh,
  stateChoicesOf,
  withStates,
  type SpaceFacts,
} from '../space/search-space.ts';
import { balancedLayerCounts, StagePartitions } from '../space/stage-partitions.ts';
import type { Objective } from '../contract.ts';

/**
 * Models of which nothing is known but that their bounds hold: time and memory follow the layout roughly and are then stirred, so that no
 * regularity helps a search that prunes too much. Whole seconds and bytes make ties, which must be settled as plain enumeration settles them.
 */
export function stirredModels(space: SpaceFacts, seed: number): LayoutModels {
  const smooth = (point: LayoutPoint): { timeS: number; bytes: number } => {
    const microBatches = space.globalBatchSize / (point.data * point.microBatchSize);
    const work =
      (space.model.layers * point.microBatchSize * microBatches) / (point.tensor * point.context * point.pipeline);
    const activations = (point.microBatchSize * space.model.layers) / (point.tensor * point.context);
    return { timeS: 4 * work, bytes: activations + 40 / (point.tensor * point.pipeline) };
  };
  const stirOf = (point: LayoutPoint, salt: number): number => {
    const text =
      `${point.tensor}.${point.context}.${point.pipeline}.${point.expert}.${point.expertTensor}.${point.microBatchSize}` +
      `${point.rankOrder}${point.contextAlgorithm}${point.zeroStage}${point.shardGroup}${point.recompute}` +
      `${point.recomputeModules.length}${point.recomputeLayersPerChunk}.${point.offloadOptimizer}.${point.offloadActivations}` +
      `${point.schedule}${point.chunks}${point.vocabulary}${point.stages?.map((stage) => stage.layers).join('')}`;
    let hash = seed + salt;
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 16777619);
    return (hash >>> 8) % 24;
  };
  const boundsOf = (point: LayoutPoint): Bounds => ({
    timeS: Math.floor(smooth(point).timeS),
    bytes: Math.floor(smooth(point).bytes),
  });
  return {
    refusalOf: (point) => {
      if (point.tensor * point.context > 4) return { rule: 'narrow', message: 'tensor times context is at most 4' };
      if (point.data > 1 && space.globalBatchSize % (point.data * point.microBatchSize) !== 0) {
        return { rule: 'batch', message: 'the batch does not divide' };
      }
      const isGiven = point.zeroStage >= 2 && point.pipeline > 1 && point.recompute === 'full';
      return isGiven ? { rule: 'deep', message: 'no full recomputation with ZeRO 2 in a pipeline' } : undefined;
    },
    degreeRefusalOf: (point) =>
      point.tensor * point.context > 4 ? { rule: 'narrow', message: 'tensor times context is at most 4' } : undefined,
    balancedStages: (point) => {
      const counts = balancedLayerCounts({
        layersS: Array.from({ length: space.model.layers }, () => 1),
        embeddingS: 0.5,
        lossS: 1.5,
        speeds: Array.from({ length: point.pipeline * point.chunks }, () => 1),
      });
      const even = stagePartsOf(space.model, { ...point, vocabulary: 'end-stages' });
      return even.map((stage, index) => ({ ...stage, layers: counts[index] ?? 0 }));
    },
    attentionS: (mesh) => stirOf(mesh, 3),
    denseBounds: (mesh) => [boundsOf(mesh)],
    meshBounds: (mesh) => [boundsOf(mesh), { timeS: Infinity, bytes: 0 }],
    withPasses: (passes) => ({
      bounds: boundsOf(passes),
      scheduleBounds: () => boundsOf(passes),
      withPipeline: (pipeline) => ({
        leastS: boundsOf(pipeline).timeS,
        leastBytes: () => boundsOf(pipeline).bytes,
        timeBoundS: (point) => Math.floor(smooth(point).timeS),
        closerBoundS: (point) => Math.floor(smooth(point).timeS),
        peakBytes: (point) => Math.floor(smooth(point).bytes) + stirOf(point, 2),
        stepTimeS: (point) => Math.floor(smooth(point).timeS) + stirOf(point, 1),
      }),
    }),
  };
}

export interface Enumerated {
  readonly best: readonly MeasuredLayout[];
  readonly front: readonly MeasuredLayout[];
  /** Layouts of the space, repeated ones included, and those that are legal, fit and meet the deadline. */
  readonly all: number;
  readonly possible: number;
}

/** The answer of plain enumeration: every layout that is wanted is measured, sorted and compared with every other. */
export function enumerateLayouts(
  space: SpaceFacts,
  models: LayoutModels,
  asked: {
    readonly limits: SearchLimits;
    readonly objective: Objective;
    readonly top: number;
    readonly isWanted?: (point: LayoutPoint) => boolean;
  },
): Enumerated {
  const partitions = new StagePartitions(space.model);
  const possible: MeasuredLayout[] = [];
  let all = 0;
  let dense = 0;
  for (const denseMesh of denseMeshesOf(space, fastestAlgorithm(models, partitions))) {
    dense++;
    for (const [expert, grid] of expertGridsOf(space, denseMesh).entries()) {
      const mesh = { ...denseMesh, ...grid };
      for (const [state, choice] of stateChoicesOf(space, mesh).entries()) {
        for (const [index, pipeline] of pipelineChoicesOf(space, mesh).entries()) {
          all++;
          const decided = withStates(pointOfMesh(mesh), choice, space.model);
          const point = decidedPoint({ space, models, partitions }, { point: decided, choice, pipeline });
          if (point === undefined || models.refusalOf(point) !== undefined) continue;
          if (asked.isWanted?.(point) === false) continue;
          const of = models.withPasses(decided).withPipeline(point);
          const stepTimeS = of.stepTimeS(point);
          const peakBytes = of.peakBytes(point, state);
          if (stepTimeS > asked.limits.stepTimeS || peakBytes > asked.limits.peakBytes) continue;
          const order = orderOf({ dense, expert, state, pipeline: index });
          possible.push({ point, gpus: space.cluster.gpus, stepTimeS, peakBytes, order });
        }
      }
    }
  }
  return {
    best: [...possible].sort((a, b) => compare(asked.objective, a, b)).slice(0, asked.top),
    front: frontOf(possible),
    all,
    possible: possible.length,
  };
}

/** Fastest first, a layout is on the front if it is smaller than all before it. */
function frontOf(possible: readonly MeasuredLayout[]): readonly MeasuredLayout[] {
  const byTime = [...possible].sort(
    (a, b) => a.stepTimeS - b.stepTimeS || a.peakBytes - b.peakBytes || a.order - b.order,
  );
  let smallest = Infinity;
  return byTime.filter((layout) => {
    if (layout.stepTimeS > FRONT_SLOWDOWN * (byTime[0]?.stepTimeS ?? 0) || layout.peakBytes >= smallest) return false;
    smallest = layout.peakBytes;
    return true;
  });
}

function compare(objective: Objective, left: MeasuredLayout, right: MeasuredLayout): number {
  const rightRanking = rankingOf(objective, right);
  for (const [index, value] of rankingOf(objective, left).entries()) {
    const difference = value - (rightRanking[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
