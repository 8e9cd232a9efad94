/** Would pods of fewer ranks let fewer bytes cross? */
import { worldSize } from '@coxswain/layout';
import { trafficOf } from './assumed-traffic.ts';
import type { FabricCapacity } from './fabric.ts';
import { type GangRequest, gangShape, ranksInDomain } from './gang-shape.ts';
import { placementCost } from './least-crossing.ts';
import { findNodes } from './placement.ts';

export interface OtherPods {
  readonly ranksPerPod: number;
  readonly pods: number;
  readonly weightedBytes: number;
}

/** Nobody would cut a gang otherwise for less. */
const WORTH_SAYING = 0.98;

/**
 * Where pods as large as nodes cut stages or leave a smaller last one: the largest equal pods that do not, if they can be placed now and weigh less than
 * what is placed. One more search; none where pods cut nothing, or their size is what was asked for.
 */
export function cheaperPods(
  request: GangRequest,
  capacity: FabricCapacity,
  placed: { readonly ranksPerPod: number; readonly weightedBytes: number },
): OtherPods | undefined {
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
  const question = { shape: gangShape(layout, ranksPerPod), traffic: trafficOf(request), fabric: capacity.fabric };
  const weightedBytes = placementCost(question, found.nodes);
  return weightedBytes > placed.weightedBytes * WORTH_SAYING
    ? undefined
    : { ranksPerPod, pods: found.nodes.length, weightedBytes };
}

/** Whether runs of the one size begin and end with runs of the other. */
function areNested(one: number, other: number): boolean {
  return one % other === 0 || other % one === 0;
}
