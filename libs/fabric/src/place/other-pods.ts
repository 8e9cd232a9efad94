/** Would pods of fewer ranks let fewer bytes cross? */
import { worldSize } from '@coxswain/layout';
import { formatCount } from '@coxswain/units';
import { trafficOf } from '../traffic/assumed-traffic.ts';
import type { FabricCapacity } from '../nodes/fabric.ts';
import { type GangRequest, gangShape, ranksInDomain } from '../traffic/gang-shape.ts';
import { placementCost } from './least-crossing.ts';
import { findNodes } from './placement.ts';
import type { PlacedGang } from './replace.ts';

/** Pods of another size that would send fewer weighted bytes. */
export interface OtherPods {
  readonly ranksPerPod: number;
  readonly pods: number;
  readonly weightedBytes: number;
  /** How much less that is than what is placed, as a share of it. */
  readonly lessShare: number;
}

/** Nobody would cut a gang otherwise for a smaller share. */
const WORTH_SAYING = 0.02;

/**
 * Where pods as large as nodes cut stages or leave a smaller last one: the largest equal pods that do not, if they can be placed now and weigh less than
 * what is placed. One more search; none where pods cut nothing, or their size is what was asked for.
 */
export function cheaperPods(request: GangRequest, capacity: FabricCapacity, placed: PlacedGang): OtherPods | undefined {
  const { layout, gpusPerNode, stageGpus } = request;
  if (gpusPerNode !== undefined || stageGpus !== undefined) return undefined;
  const ranks = worldSize(layout);
  const stage = ranks / layout.pipelineParallelDegree;
  const inDomain = ranksInDomain(layout);
  const cutsNothing = (size: number): boolean =>
    ranks % size === 0 && areNested(size, stage) && areNested(size, inDomain);
  if (cutsNothing(placed.ranksPerPod)) return undefined;
  const sizes = Array.from({ length: placed.ranksPerPod - 1 }, (_, less) => placed.ranksPerPod - 1 - less);
  const ranksPerPod = sizes.find(cutsNothing);
  if (ranksPerPod === undefined) return undefined;
  const found = findNodes({ ...request, gpusPerNode: ranksPerPod }, capacity);
  if (found === undefined) return undefined;
  const costOf = (gang: PlacedGang): number =>
    placementCost(
      { shape: gangShape(layout, gang.ranksPerPod), traffic: trafficOf(request), fabric: capacity.fabric },
      gang.nodes,
    );
  const weightedBytes = costOf(found);
  const lessShare = 1 - weightedBytes / costOf(placed);
  return lessShare < WORTH_SAYING ? undefined : { ranksPerPod, pods: found.nodes.length, weightedBytes, lessShare };
}

/** What they would be, in the words of a job's fields. */
export function cheaperPodsText({ ranksPerPod, pods, lessShare }: OtherPods): string {
  const lessPercent = Math.round(100 * lessShare);
  return `With resources.gpusPerNode ${ranksPerPod}, on ${formatCount(pods, 'node')}, stages stay whole and ${lessPercent} % less crosses, by what crossing costs.`;
}

/** Whether runs of the one size begin and end with runs of the other. */
function areNested(one: number, other: number): boolean {
  return one % other === 0 || other % one === 0;
}
