/** How many GPUs do pods of a placement take, by node? */
import { gpusOfPod, type PlacementSpec } from '@coxswain/api-types';

/** Indices of all pods of a placement. */
export function allPods({ nodes }: PlacementSpec): readonly number[] {
  return [...nodes.keys()];
}

/** GPUs that these pods of a placement take, by node. */
export function gpusByNode(placement: PlacementSpec, podIndices: readonly number[]): ReadonlyMap<string, number> {
  const counts = gpuCounts(placement);
  const gpus = new Map<string, number>();
  for (const podIndex of podIndices) {
    const node = placement.nodes[podIndex];
    if (node !== undefined) gpus.set(node, (gpus.get(node) ?? 0) + (counts[podIndex] ?? 0));
  }
  return gpus;
}

/** A placement never changes, and every reconciliation asks while a gang's pods wait to be bound. */
const countsOf = new WeakMap<PlacementSpec, readonly number[]>();

/** GPUs of each pod, in the order of pods. */
function gpuCounts(placement: PlacementSpec): readonly number[] {
  const known = countsOf.get(placement);
  if (known !== undefined) return known;
  const counts = placement.nodes.map((_node, podIndex) => gpusOfPod(placement, podIndex));
  countsOf.set(placement, counts);
  return counts;
}
