/**
 * Complexity of layouts in points. It decides between layouts whose predicted times differ by less than the prediction error.
 *
 * Options have points for what users must understand and engines must do correctly; rarely used options have more. Plain data parallelism has 0. Only the order
 * of the points matters.
 */
import type { CandidateLayout, ClusterFacts, Schedule } from '../facts.ts';
import { RANK_ORDERS } from '../facts.ts';
import type { PipelineChoice, StateChoice } from '../space/search-space.ts';

type MeshDegrees = Pick<CandidateLayout, 'tensor' | 'context' | 'pipeline' | 'expert' | 'expertTensor' | 'rankOrder'>;

const OFFLOAD = 6;
const CONTEXT = 4;
const PIPELINE = 2;
const UNUSUAL_ORDER = 2;
const GROUPED_SHARDS = 2;
const EXPERTS = 1;
/** Of the published rows that distribute experts 225 do so inside one node or scale-up domain, 26 over two to eight and none over more (`measurements.csv` of research/planner-calibration). */
const EXPERTS_OVER_DOMAINS = 2;
const EXPERTS_OVER_MANY_DOMAINS = 6;
const MANY_DOMAINS = 8;
const FOREIGN_STAGE = 1;
const UNEVEN_STAGES = 1;

/** Megatron's two; a bubble halved by chunks is everyday work, split backward passes are not. */
const SCHEDULE_POINTS: Readonly<Record<Schedule, number>> = {
  '1f1b': 0,
  'interleaved-1f1b': 1,
  gpipe: 1,
  'zb-h1': 3,
  'zb-2p': 4,
  zbv: 4,
  'v-half': 4,
  'v-min': 4,
  'dualpipe-v': 5,
};

const RECOMPUTE_POINTS: Readonly<Record<StateChoice['recompute'], number>> = {
  none: 0,
  'core-attention': 1,
  norms: 1,
  mlp: 1,
  operations: 1,
  full: 1,
  half: 2,
};

/** Points of degrees and rank order. Distributed experts have additional points. */
export function meshComplexity(
  { tensor, context, pipeline, expert, expertTensor, rankOrder }: MeshDegrees,
  { gpusPerNode, scaleUpDomainGpus }: Pick<ClusterFacts, 'gpusPerNode' | 'scaleUpDomainGpus'>,
): number {
  const domains = (expert * expertTensor) / Math.max(gpusPerNode, scaleUpDomainGpus);
  return (
    (tensor > 1 ? 1 : 0) +
    (context > 1 ? CONTEXT : 0) +
    (pipeline > 1 ? PIPELINE : 0) +
    (expert > 1 ? expertPoints(domains) : 0) +
    (expertTensor > 1 ? 1 : 0) +
    (rankOrder === undefined || rankOrder === RANK_ORDERS[0] ? 0 : UNUSUAL_ORDER)
  );
}

function expertPoints(domains: number): number {
  if (domains <= 1) return EXPERTS;
  return domains <= MANY_DOMAINS ? EXPERTS_OVER_DOMAINS : EXPERTS_OVER_MANY_DOMAINS;
}

/** Points of states. `replicas`: ranks with the same dense weights; `plainStages`: ZeRO stages that are standard for the engine. */
export function statesComplexity(
  states: StateChoice,
  { replicas, plainStages }: { readonly replicas: number; readonly plainStages: readonly number[] },
): number {
  const isGrouped = states.zeroStage > 0 && states.shardGroup !== replicas;
  return (
    (plainStages.includes(states.zeroStage) ? 0 : FOREIGN_STAGE) +
    (isGrouped ? GROUPED_SHARDS : 0) +
    RECOMPUTE_POINTS[states.recompute] +
    (states.offloadOptimizer > 0 ? OFFLOAD : 0) +
    (states.offloadActivations > 0 ? OFFLOAD : 0)
  );
}

/** Points of a schedule; 0 without a pipeline. */
export function scheduleComplexity({ schedule }: Pick<PipelineChoice, 'schedule'>, pipeline: number): number {
  return pipeline === 1 ? 0 : SCHEDULE_POINTS[schedule];
}

/** Points of a partition of layers; 0 without a pipeline. */
export function partitionComplexity({ partition }: Pick<PipelineChoice, 'partition'>, pipeline: number): number {
  return pipeline === 1 || partition === 'even' ? 0 : UNEVEN_STAGES;
}
