/** What a GPU shows for what PyTorch's allocator hands out, and whether that fits. */
import { GIB_BYTES } from '@coxswain/units';
import type { ClusterFacts, RunFacts } from '../facts.ts';
import type { MemoryVerdict } from '../contract.ts';
import { memoryProfileOf } from './stack-memory-profile.ts';

/** Above the capacity by more than this share, what a run allocates and the smallest context say that it does not fit. */
export const OVERFLOW_SHARE = 0.05;
const SMALLEST_CONTEXT_BYTES = GIB_BYTES;

/** What nvidia-smi shows for an allocator peak of a software stack, in bytes. */
export function deviceUsedBytesOf(peakAllocatedBytes: number, stack: string): number {
  const { slackShare, contextGib } = memoryProfileOf(stack);
  return peakAllocatedBytes * (1 + slackShare) + contextGib * GIB_BYTES;
}

/**
 * Whether an allocator peak fits a GPU. 'fits' leaves `marginShare` of the capacity free (absent: what the stack needs to be safe),
 * 'doesNotFit' exceeds it by more than OVERFLOW_SHARE even without slack and communicators, and what lies between is 'tight'.
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

/** Of one GPU; where islands have different ones that of the smallest, so that a layout that fits does so wherever its stages lie. */
export function memoryGibOf({ gpu, islands = [] }: Pick<ClusterFacts, 'gpu' | 'islands'>): number {
  return islands.length === 0 ? gpu.memoryGib : Math.min(...islands.map((island) => (island.gpu ?? gpu).memoryGib));
}

/** Of a host's memory, what the system, data loading and checkpoints on their way to storage leave to offloaded states. Assumption. */
const OFFLOADED_SHARE = 0.8;

/** Bytes of host memory that one GPU may fill: an equal share of its node's. Infinity where nobody says what the node has. */
export function hostCapacityBytesOf({ hostMemoryGibPerNode, gpusPerNode, gpus }: ClusterFacts): number {
  if (hostMemoryGibPerNode === undefined) return Infinity;
  return (hostMemoryGibPerNode * GIB_BYTES * OFFLOADED_SHARE) / Math.min(gpusPerNode, gpus);
}
