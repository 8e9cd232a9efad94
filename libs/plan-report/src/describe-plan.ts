import { formatLayout, type ParallelLayout, type RankAxis } from '@coxswain/layout';
import type { MemoryVerdict, Plan } from '@coxswain/planner';

/** The degrees of a plan: `tp8 x dp16 x pp4`. */
export function formatDegrees(plan: Pick<Plan, 'layout'>): string {
  return formatLayout(plan.layout);
}

/** All options of a layout other than degrees, in short: `micro-batch 1, interleaved-1f1b x4, ZeRO-1, no recomputation`. */
export function choicesOf({ layout, microBatchSize }: Pick<Plan, 'layout' | 'microBatchSize'>): string {
  return [
    `micro-batch ${microBatchSize}`,
    ...scheduleOf(layout),
    ...contextOf(layout),
    ...statesOf(layout),
    recomputationOf(layout),
    ...offloadOf(layout),
    ...rankOrderOf(layout),
  ].join(', ');
}

const VERDICT_WORDS: Readonly<Record<MemoryVerdict, string>> = {
  fits: 'fits',
  tight: 'too tight to count on',
  doesNotFit: 'does not fit',
};

/** The memory verdict in words. */
export function describeVerdict(verdict: MemoryVerdict): string {
  return VERDICT_WORDS[verdict];
}

function scheduleOf({ pipelineParallelDegree, pipeline }: ParallelLayout): readonly string[] {
  if (pipelineParallelDegree === 1) return [];
  const chunks = pipeline?.chunksPerRank ?? 1;
  const schedule = pipeline?.schedule ?? (chunks > 1 ? 'interleaved-1f1b' : '1f1b');
  const uneven = pipeline?.stages === undefined ? [] : [unevenStagesOf(pipeline.stages)];
  return [chunks > 1 ? `${schedule} x${chunks}` : schedule, ...uneven];
}

/** `20+20+21+19 layers`; for long pipelines the range of layers, and stages without layers. */
function unevenStagesOf(stages: readonly ListedStage[]): string {
  const layers = stages.map((stage) => stage.layers);
  if (layers.length <= 8) return `${layers.join('+')} layers`;
  const [least, most] = [Math.min(...layers.filter((count) => count > 0)), Math.max(...layers)];
  const counted = least === most ? plural(most) : `${least} to ${plural(most)}`;
  return [`${counted} a stage`, ...endsAlone(stages)].join(', ');
}

type ListedStage = NonNullable<NonNullable<ParallelLayout['pipeline']>['stages']>[number];

function plural(layers: number): string {
  return layers === 1 ? '1 layer' : `${layers} layers`;
}

function endsAlone(stages: readonly ListedStage[]): readonly string[] {
  const ends = stages.flatMap(({ layers, embedding, loss }) =>
    layers > 0 ? [] : [embedding === true ? 'embedding' : loss === true ? 'output' : 'nothing'],
  );
  return ends.length === 0
    ? []
    : [`${ends.join(' and ')} in ${ends.length === 1 ? 'a stage' : 'stages'} without layers`];
}

function contextOf({ contextParallelDegree = 1, sequence }: ParallelLayout): readonly string[] {
  return contextParallelDegree === 1 ? [] : [`context by ${sequence?.contextAlgorithm ?? 'ring'}`];
}

/** The sharding of states; empty for one rank, which cannot shard. */
function statesOf({ dataParallelDegree, contextParallelDegree = 1, ...layout }: ParallelLayout): readonly string[] {
  if (dataParallelDegree * contextParallelDegree === 1) return [];
  const { states, dataParallelShardDegree } = layout;
  return [
    `ZeRO-${states?.zeroStage ?? 0}`,
    ...(dataParallelShardDegree === undefined ? [] : [`states in groups of ${dataParallelShardDegree}`]),
  ];
}

function recomputationOf({ memory }: ParallelLayout): string {
  const recompute = memory?.recompute;
  switch (recompute?.mode) {
    case 'selective':
      return recompute.modules === undefined
        ? 'recomputing selectively'
        : `recomputing ${recompute.modules.join(', ')}`;
    case 'full':
      return recompute.method === 'block' ? `recomputing ${recompute.layers ?? 1} layers a chunk` : 'recomputing all';
    case 'budget':
      return 'recomputing by budget';
    default:
      return 'no recomputation';
  }
}

function offloadOf({ memory }: ParallelLayout): readonly string[] {
  return (memory?.offload ?? []).map(
    ({ what, fraction = 1 }) =>
      `${Math.round(100 * fraction)} % of ${what === 'optimizer' ? 'optimizer states' : what} on the host`,
  );
}

const SHORT_AXES: Readonly<Record<RankAxis, string>> = {
  tensor: 'tp',
  weightShard: 'wshard',
  context: 'cp',
  expert: 'ep',
  data: 'dp',
  pipeline: 'pp',
};
/** The default order of axes. */
const USUAL_ORDER: readonly RankAxis[] = ['tensor', 'weightShard', 'context', 'expert', 'data', 'pipeline'];

/** `ranks tp-cp-pp-dp` if the order of axes, from adjacent ranks to distant ones, is not the default. */
function rankOrderOf({ rankOrder }: ParallelLayout): readonly string[] {
  if (rankOrder === undefined) return [];
  const isUsual = USUAL_ORDER.filter((axis) => rankOrder.includes(axis)).every(
    (axis, index) => axis === rankOrder[index],
  );
  return isUsual ? [] : [`ranks ${rankOrder.map((axis) => SHORT_AXES[axis]).join('-')}`];
}
