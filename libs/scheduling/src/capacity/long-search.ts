import type { Fabric } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import type { GangRequest } from '../gang-request.ts';

/** Size from which a search is long, in nodes; a pod costs a search about as much as eight nodes. */
const LONG = 1_024;
const NODES_OF_A_POD = 8;
/** Assumed GPUs per node if the gang does not state them. */
const USUAL_GPUS_PER_NODE = 8;

/**
 * Whether searching nodes takes longer than copying the fabric to another process: 64 pods on 400 nodes take 20 ms, 1,000 pods on as many
 * nodes half a second (`npm run placement:bench`).
 */
export function isLongSearch({ layout, gpusPerNode = USUAL_GPUS_PER_NODE }: GangRequest, { nodes }: Fabric): boolean {
  const pods = Math.ceil(worldSize(layout) / gpusPerNode);
  return nodes.length + NODES_OF_A_POD * pods >= LONG;
}
