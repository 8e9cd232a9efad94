import type { Fabric } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import type { GangRequest } from '@coxswain/scheduling';

/** Of nodes, and of pods, each of which costs a search about as much as eight nodes. */
const LONG = 1_024;
const NODES_OF_A_POD = 8;
/** Where the gang does not say: as most machines have. */
const USUAL_GPUS_PER_NODE = 8;

/**
 * Whether a search of nodes takes longer than what it takes to copy the fabric to another process: 64 pods on 400 nodes take 20 ms, 1,000 on as many
 * half a second (`npm run placement:bench`).
 */
export function isLongSearch({ layout, gpusPerNode = USUAL_GPUS_PER_NODE }: GangRequest, { nodes }: Fabric): boolean {
  const pods = Math.ceil(worldSize(layout) / gpusPerNode);
  return nodes.length + NODES_OF_A_POD * pods >= LONG;
}
