import type { Need } from './capacity-profile.ts';
import type { RequestPart } from './forecast-input.ts';

/** Empty nodes and GPUs of partly taken nodes that a part of a request takes of nodes with so many GPUs. */
export function needOf({ gpus, gpusPerPod }: RequestPart, gpusPerNode: number): Need {
  const perPod = Math.min(gpusPerPod ?? gpusPerNode, gpus);
  if (perPod < gpusPerNode) return { nodes: 0, gpus };
  const nodes = Math.floor(gpus / gpusPerNode);
  return { nodes, gpus: gpus - nodes * gpusPerNode };
}

/** Whether the part asks for anything that a count can answer. */
export function isPossible({ gpus }: RequestPart): boolean {
  return Number.isSafeInteger(gpus) && gpus > 0;
}
