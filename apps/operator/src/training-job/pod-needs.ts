/** What does every training pod need of its node, whatever the engine? */
import { MIB_BYTES, quantityOf } from '@coxswain/units';

/**
 * Autoscalers that make a cluster smaller leave these pods where they are: a gang that loses one pod to tidiness loses its progress. Sources: FAQ of
 * cluster-autoscaler ("What types of pods can prevent CA from removing a node?"), Karpenter, disruption, "Pod-level controls".
 */
export const UNDISTURBED = {
  'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
  'karpenter.sh/do-not-disrupt': 'true',
} as const;

/** Container runtimes give 64 MiB. NCCL needs half of that for each communicator, and data loaders far more. They fail without naming this cause. */
const SHARED_MEMORY = { volume: 'coxswain-shared-memory', path: '/dev/shm' } as const;
/** Most, and which share of the pod's memory: what is written there counts as the pod's. */
const MOST_SHARED_MIB = 65_536;
const SHARED_PART = 4;

/**
 * Memory that the processes of a pod share, and room for `saveBytes` of saves beside it: `memory` counts both. Where the pod has no limit, the kubelet keeps it
 * to what the node can give.
 */
export function sharedMemory(
  memory: string | undefined,
  saveBytes = 0,
): {
  readonly volume: Readonly<Record<string, unknown>>;
  readonly mount: Readonly<Record<string, unknown>>;
} {
  const shareMib =
    memory === undefined
      ? MOST_SHARED_MIB
      : Math.floor(((quantityOf(memory) ?? 0) - saveBytes) / SHARED_PART / MIB_BYTES);
  const savesMib = Math.ceil(saveBytes / MIB_BYTES);
  const sizeLimit = `${Math.min(MOST_SHARED_MIB, Math.max(1, shareMib)) + savesMib}Mi`;
  return {
    volume: { name: SHARED_MEMORY.volume, emptyDir: { medium: 'Memory', sizeLimit } },
    mount: { name: SHARED_MEMORY.volume, mountPath: SHARED_MEMORY.path },
  };
}

const MOST_THREADS = 16;

/**
 * `OMP_NUM_THREADS` of a rank: one per processor that it has, at most 16. Without a number of processors 1, as torchrun does
 * (torch/distributed/run.py): ranks that take all processors of the node each are many times slower.
 */
export function threadsOfRank(cpuPerGpu: string | undefined): number {
  return cpuPerGpu === undefined ? 1 : Math.min(MOST_THREADS, Math.max(1, Math.floor(quantityOf(cpuPerGpu) ?? 1)));
}
