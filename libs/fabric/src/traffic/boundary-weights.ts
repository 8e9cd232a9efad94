import { type Boundary, BOUNDARIES, type CrossingBytes } from './traffic.ts';

/**
 * What a byte costs that gets across, in bytes between two GPUs of a node. 1 is NVLink of an H100, 450 GB/s each way.
 *
 * - node: within an NVLink domain nothing is added; its switches reach every GPU at the same speed (NVL72).
 * - nvlinkDomain: a NIC of 400 Gb/s per GPU is nine times slower.
 * - leaf: leaf and spine are usually joined at full bisection, but flows that hash onto one link share it: a third more, which is our choice.
 * - spine: pods of the Llama 3 cluster are joined by switches that are oversubscribed 7 to 1 (arXiv 2407.21783, section 3.3.1).
 * - core: twice that, which is our choice; nobody publishes it.
 * - island: networks that cannot connect leave sockets over the node's Ethernet; 100 Gb/s for eight GPUs are 288 times slower than NVLink.
 */
const COST_PER_BYTE: CrossingBytes = {
  gpu: 1,
  node: 1,
  nvlinkDomain: 9,
  leaf: 12,
  spine: 63,
  core: 126,
  island: 288,
};

/** What each boundary adds to the cost of a byte; a byte that crosses one has crossed all nearer ones, so costs add up. */
export const BOUNDARY_WEIGHTS: CrossingBytes = perBoundary(
  (boundary, nearer) => COST_PER_BYTE[boundary] - (nearer === undefined ? 0 : COST_PER_BYTE[nearer]),
);

/** One number for a placement: bytes over each boundary by what it costs to cross. Lower is better; unit: bytes between GPUs of a node. */
export function weightedBytes(crossing: CrossingBytes): number {
  return BOUNDARIES.reduce((sum, boundary) => sum + BOUNDARY_WEIGHTS[boundary] * crossing[boundary], 0);
}

function perBoundary(of: (boundary: Boundary, nearer: Boundary | undefined) => number): CrossingBytes {
  return Object.fromEntries(
    BOUNDARIES.map((boundary, index) => [boundary, of(boundary, BOUNDARIES[index - 1])]),
  ) as CrossingBytes;
}
