import { stagePartsOf } from '../stages.ts';
import type { CandidateLayout, StagePart } from '../facts.ts';
import { FRONT_SLOWDOWN, rankingOf, type MeasuredLayout } from '../search/kept-layouts.ts';
import type { SearchLimits } from '../search/branch-and-bound.ts';
import { meshComplexity, partitionComplexity, scheduleComplexity, statesComplexity } from '../search/complexity.ts';
import { decidedCandidate, fastestAlgorithm, plainCandidateOf, withoutExperts } from '../search/decided-layout.ts';
import type { Bounds, LayoutModels } from '../search/layout-models.ts';
import { orderOf } from '../search/layout-order.ts';
import {
  denseMeshesOf,
  expertGridsOf,
  partitionsOf,
  pipelineChoicesOf,
  candidateOfMesh,
  stateChoicesOf,
  withStates,
  type DenseMesh,
  type Mesh,
  type PipelineChoice,
  type SpaceFacts,
  type StateChoice,
} from '../space/search-space.ts';
import { balancedLayerCounts, StagePartitions } from '../space/stage-partitions.ts';
import type { Objective } from '../contract.ts';

/**
 * Models of which nothing is known but that their bounds hold: time and memory follow the layout roughly and are then stirred, so that no
 * regularity helps a search that prunes too much. Whole seconds and bytes make ties, which must be settled as plain enumeration settles them.
 */
export function randomizedModels(space: SpaceFacts, seed: number): LayoutModels {
  const smooth = (candidate: CandidateLayout): { timeS: number; bytes: number } => {
    const microBatches = space.globalBatchSize / (candidate.data * candidate.microBatchSize);
    const work =
      (space.model.layers * candidate.microBatchSize * microBatches) /
      (candidate.tensor * candidate.context * candidate.pipeline);
    const activations = (candidate.microBatchSize * space.model.layers) / (candidate.tensor * candidate.context);
    return { timeS: 4 * work, bytes: activations + 40 / (candidate.tensor * candidate.pipeline) };
  };
  const stirOf = (candidate: CandidateLayout, salt: number): number => {
    const text =
      `${candidate.tensor}.${candidate.context}.${candidate.pipeline}.${candidate.expert}.${candidate.expertTensor}.${candidate.microBatchSize}` +
      `${candidate.rankOrder}${candidate.contextAlgorithm}${candidate.zeroStage}${candidate.shardGroup}${candidate.recompute}` +
      `${candidate.recomputeModules.length}${candidate.recomputeLayersPerChunk}.${candidate.offloadOptimizer}.${candidate.offloadActivations}` +
      `${candidate.schedule}${candidate.chunks}${candidate.vocabulary}${candidate.stages?.map((stage) => stage.layers).join('')}`;
    let hash = seed + salt;
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 16777619);
    return (hash >>> 8) % 24;
  };
  const boundsOf = (candidate: CandidateLayout): Bounds => ({
    timeS: Math.floor(smooth(candidate).timeS),
    bytes: Math.floor(smooth(candidate).bytes),
  });
  const balancedStages = (candidate: CandidateLayout): readonly StagePart[] => {
    const counts = balancedLayerCounts({
      layersS: Array.from({ length: space.model.layers }, () => 1),
      embeddingS: 0.5,
      lossS: 1.5,
      speeds: Array.from({ length: candidate.pipeline * candidate.chunks }, () => 1),
    });
    const even = stagePartsOf(space.model, { ...candidate, vocabulary: 'end-stages' });
    return even.map((stage, index) => ({ ...stage, layers: counts[index] ?? 0 }));
  };
  return {
    refusalOf: (candidate) => {
      if (candidate.tensor * candidate.context > 4)
        return { rule: 'narrow', message: 'tensor times context is at most 4' };
      if (candidate.data > 1 && space.globalBatchSize % (candidate.data * candidate.microBatchSize) !== 0) {
        return { rule: 'batch', message: 'the batch does not divide' };
      }
      const isGiven = candidate.zeroStage >= 2 && candidate.pipeline > 1 && candidate.recompute === 'full';
      return isGiven ? { rule: 'deep', message: 'no full recomputation with ZeRO 2 in a pipeline' } : undefined;
    },
    degreeRefusalOf: (candidate) =>
      candidate.tensor * candidate.context > 4
        ? { rule: 'narrow', message: 'tensor times context is at most 4' }
        : undefined,
    balancedStages,
    attentionS: (mesh) => stirOf(mesh, 3),
    denseBounds: (mesh) => [boundsOf(mesh)],
    meshBounds: (mesh) => [boundsOf(mesh), { timeS: Infinity, bytes: 0 }],
    withPasses: (passes) => ({
      bounds: boundsOf(passes),
      scheduleBounds: () => boundsOf(passes),
      balancedStages,
      withPipeline: (pipeline) => ({
        leastS: boundsOf(pipeline).timeS,
        closerLeastS: () => boundsOf(pipeline).timeS,
        leastBytes: () => boundsOf(pipeline).bytes,
        timeBoundS: (candidate) => Math.floor(smooth(candidate).timeS),
        closerBoundS: (candidate) => Math.floor(smooth(candidate).timeS),
        peakBytes: (candidate) => Math.floor(smooth(candidate).bytes) + stirOf(candidate, 2),
        stepTimeS: (candidate) => Math.floor(smooth(candidate).timeS) + stirOf(candidate, 1),
      }),
    }),
  };
}

export interface Enumerated {
  readonly best: readonly MeasuredLayout[];
  readonly front: readonly MeasuredLayout[];
  readonly simplest: MeasuredLayout | undefined;
  /** Layouts of the space, repeated ones included, and those that are legal, fit and meet the deadline. */
  readonly all: number;
  readonly possible: number;
}

/** The result of plain enumeration: every layout is measured, sorted and compared with every other. */
export function enumerateLayouts(
  space: SpaceFacts,
  models: LayoutModels,
  asked: {
    readonly limits: SearchLimits;
    readonly objective: Objective;
    readonly top: number;
    /** Layouts that take up to so many times as long as the fastest are as fast. */
    readonly slowdown?: number;
    readonly isWanted?: (candidate: CandidateLayout) => boolean;
  },
): Enumerated {
  const partitions = new StagePartitions(space.model, partitionsOf(space));
  const possible: (MeasuredLayout & { readonly complexity: number })[] = [];
  let all = 0;
  let dense = 0;
  const legality = {
    degreeRefusal: (mesh: DenseMesh) => models.degreeRefusalOf(plainCandidateOf(withoutExperts(mesh), partitions)),
  };
  for (const denseMesh of denseMeshesOf(space, fastestAlgorithm(models, legality))) {
    dense++;
    for (const [expert, grid] of expertGridsOf(space, denseMesh).entries()) {
      const mesh = { ...denseMesh, ...grid };
      for (const [state, choice] of stateChoicesOf(space, mesh).entries()) {
        for (const [index, pipeline] of pipelineChoicesOf(space, mesh).entries()) {
          all++;
          const decided = withStates(candidateOfMesh(mesh), choice, space.model);
          const candidate = decidedCandidate({ space, models, partitions }, { candidate: decided, choice, pipeline });
          if (candidate === undefined || models.refusalOf(candidate) !== undefined) continue;
          if (asked.isWanted?.(candidate) === false) continue;
          const of = models.withPasses(decided).withPipeline(candidate);
          const stepTimeS = of.stepTimeS(candidate, state);
          const peakBytes = of.peakBytes(candidate, state);
          if (stepTimeS > asked.limits.stepTimeS || peakBytes > asked.limits.peakBytes) continue;
          const order = orderOf({ dense, expert, state, pipeline: index });
          const complexity = complexityOf(space, mesh, { choice, pipeline });
          possible.push({ candidate, gpus: space.cluster.gpus, stepTimeS, peakBytes, order, complexity });
        }
      }
    }
  }
  const measured = possible.map(({ complexity: _, ...layout }) => layout);
  return {
    best: [...measured].sort((a, b) => compare(asked.objective, a, b)).slice(0, asked.top),
    front: frontOf(measured),
    simplest: simplestOf(possible, asked.slowdown ?? 1),
    all,
    possible: possible.length,
  };
}

function complexityOf(
  space: SpaceFacts,
  mesh: Mesh,
  { choice, pipeline }: { readonly choice: StateChoice; readonly pipeline: PipelineChoice },
): number {
  const engine = { replicas: mesh.data * mesh.context, plainStages: space.plainZeroStages ?? [0, 1] };
  return (
    meshComplexity(mesh, space.cluster) +
    statesComplexity(choice, engine) +
    scheduleComplexity(pipeline, mesh.pipeline) +
    partitionComplexity(pipeline, mesh.pipeline)
  );
}

/** Of those as fast as the fastest the one with fewest points; of equal ones the fastest, the smallest, the first. */
function simplestOf(
  possible: readonly (MeasuredLayout & { readonly complexity: number })[],
  slowdown: number,
): MeasuredLayout | undefined {
  const fastestS = Math.min(...possible.map(({ stepTimeS }) => stepTimeS));
  const [first] = possible
    .filter(({ stepTimeS }) => stepTimeS <= slowdown * fastestS)
    .sort(
      (a, b) =>
        a.complexity - b.complexity || a.stepTimeS - b.stepTimeS || a.peakBytes - b.peakBytes || a.order - b.order,
    );
  if (first === undefined) return undefined;
  const { complexity: _, ...layout } = first;
  return layout;
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
