/** Converts allocator peaks to device memory, and decides whether they fit. */
import { GIB_BYTES } from '@coxswain/units';
import type { ClusterFacts, RunFacts } from '../facts.ts';
import type { MemoryVerdict } from '../contract.ts';
import { memoryProfileOf } from './stack-memory-profile.ts';

/** A run does not fit if it exceeds the capacity by more than this share, even with the smallest context. */
export const OVERFLOW_SHARE = 0.05;
const SMALLEST_CONTEXT_BYTES = GIB_BYTES;

/** What nvidia-smi shows for an allocator peak of a software stack, in bytes. */
export function deviceUsedBytesOf(peakAllocatedBytes: number, stack: string): number {
  const { slackShare, contextGib } = memoryProfileOf(stack);
  return peakAllocatedBytes * (1 + slackShare) + contextGib * GIB_BYTES;
}

/**
 * Whether an allocator peak fits a GPU. 'fits' leaves `marginShare` of the capacity free (absent: what the stack needs to be safe).
 * 'doesNotFit' exceeds the capacity by more than OVERFLOW_SHARE even without slack and communicators. What lies between is 'tight'.
 */
export function verdictOf(
  peakAllocatedBytes: number,
  run: Pick<RunFacts, 'stack' | 'cluster'>,
  marginShare = memoryProfileOf(run.stack).marginShare,
): MemoryVerdict {
  const used = deviceUsedBytesOf(peakAllocatedBytes, run.stack);
  const capacity = memoryGibOf(run.cluster) * GIB_BYTES;
  if (used <= capacity * (1 - marginShare)) return 'fits';
  return peakAllocatedBytes + SMALLEST_CONTEXT_BYTES <= capacity * (1 + OVERFLOW_SHARE) ? 'tight' : 'doesNotFit';
}

/** The highest allocator peak that still 'fits'. */
export function mostAllocatedBytesOf(
  { stack, cluster }: Pick<RunFacts, 'stack' | 'cluster'>,
  marginShare = memoryProfileOf(stack).marginShare,
): number {
  const usable = memoryGibOf(cluster) * GIB_BYTES * (1 - marginShare);
  const none = deviceUsedBytesOf(0, stack);
  const perByte = (deviceUsedBytesOf(GIB_BYTES, stack) - none) / GIB_BYTES;
  return (usable - none) / perByte;
}

/** Memory of one GPU; the smallest if islands have different GPUs, so that a layout fits on every island. */
export function memoryGibOf({ gpu, islands = [] }: Pick<ClusterFacts, 'gpu' | 'islands'>): number {
  return islands.length === 0 ? gpu.memoryGib : Math.min(...islands.map((island) => (island.gpu ?? gpu).memoryGib));
}

/** Share of host memory for offloaded states; the rest is for the system, data loading and checkpoints. Assumption. */
const OFFLOADED_SHARE = 0.8;

/** Host memory per GPU for offloading, in bytes: an equal share of the node. Infinity if the memory of the node is unknown. */
export function hostCapacityBytesOf({ hostMemoryGibPerNode, gpusPerNode, gpus }: ClusterFacts): number {
  if (hostMemoryGibPerNode === undefined) return Infinity;
  return (hostMemoryGibPerNode * GIB_BYTES * OFFLOADED_SHARE) / Math.min(gpusPerNode, gpus);
}
