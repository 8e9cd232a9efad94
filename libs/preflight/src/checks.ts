/** Checks the facts of each pod, alone and compared with the other pods of its gang. */
import type { PreflightFacts } from '@coxswain/api-types';
import { formatBytes, formatDuration, GIB_BYTES, SECOND_MS } from '@coxswain/units';
import type { CheckName, Finding, ObservedPod } from './judgement.ts';
import { median } from './pairs.ts';

/** The findings of one check, and its notes. */
export interface Suspicion {
  readonly suspects: readonly Finding[];
  readonly notes: readonly string[];
}

type Check = (pods: readonly ObservedPod[]) => Suspicion;

/** Fewer pods than this have no usual value: if two differ, neither is known to be wrong. */
const LEAST_TO_COMPARE = 3;
/** Certificates, leases and log times bear less than this. */
const CLOCK_LIMIT_MS = SECOND_MS;
/** A pod must have less than this, and less than that share of the usual amount. */
const SCRATCH = { bytes: 10 * GIB_BYTES, share: 0.1 } as const;
const SHARED_MEMORY_SHARE = 0.5;
const MEMLOCK_SHARE = 0.5;
/** GPUs of one type differ by what their ECC keeps. */
const GPU_MEMORY_SHARE = 0.9;

/**
 * Versions that must agree within a gang. The driver is not among them: clusters renew it node by node, and CUDA tolerates that.
 */
const VERSIONS = [
  ['torch', 'PyTorch'],
  ['nccl', 'NCCL'],
  ['cuda', 'CUDA'],
  ['python', 'Python'],
  ['packagesSha256', 'its Python packages (SHA-256 of their names and versions)'],
] as const satisfies readonly (readonly [keyof PreflightFacts, string])[];

/** Every check except bandwidth. */
export const CHECKS: readonly Check[] = [
  gpus,
  gpuMemory,
  belowUsual('sharedMemory', {
    valueOf: ({ sharedMemoryBytes }) => sharedMemoryBytes,
    // It is made after the pod's memory, which follows its ranks: the last pod of a gang may have fewer.
    partsOf: ({ ranks }) => Math.max(1, ranks),
    limitOf: (usual) => SHARED_MEMORY_SHARE * usual,
    what: '/dev/shm holds',
  }),
  belowUsual('memlock', {
    valueOf: ({ memlockBytes }) => (memlockBytes === null ? Number.MAX_SAFE_INTEGER : memlockBytes),
    limitOf: (usual) => MEMLOCK_SHARE * usual,
    what: 'memory that may be locked (ulimit -l) is',
  }),
  belowUsual('scratch', {
    valueOf: ({ scratchFreeBytes }) => scratchFreeBytes,
    limitOf: (usual) => Math.min(SCRATCH.bytes, SCRATCH.share * usual),
    what: 'free disk for scratch is',
  }),
  clock,
  versions,
  drivers,
];

/** Skipped if no pod has GPUs: such a gang computes on CPUs. */
function gpus(pods: readonly ObservedPod[]): Suspicion {
  if (!pods.some(({ report }) => (report.facts.gpus?.length ?? 0) > 0)) return NOTHING;
  const short = pods.filter(({ report, ranks }) => (report.facts.gpus?.length ?? ranks) < ranks);
  return suspicionOf(short, 'gpus', ({ report, ranks }) => {
    return `${report.facts.gpus?.length ?? 0} GPUs are visible where the pod has ${ranks}`;
  });
}

function gpuMemory(pods: readonly ObservedPod[]): Suspicion {
  const smallest = ({ report }: ObservedPod): number | undefined => {
    const memory = (report.facts.gpus ?? []).map(({ memoryBytes }) => memoryBytes);
    return memory.length === 0 ? undefined : Math.min(...memory);
  };
  const known = pods.filter((pod) => smallest(pod) !== undefined);
  if (known.length < LEAST_TO_COMPARE) return NOTHING;
  const usual = median(known.map((pod) => smallest(pod) ?? 0));
  const short = known.filter((pod) => (smallest(pod) ?? 0) < GPU_MEMORY_SHARE * usual);
  return suspicionOf(short, 'gpuMemory', (pod) => {
    return `a GPU has ${formatBytes(smallest(pod) ?? 0)} of memory where ${formatBytes(usual)} are usual in this gang`;
  });
}

function belowUsual(
  check: CheckName,
  {
    valueOf,
    partsOf = () => 1,
    limitOf,
    what,
  }: {
    readonly valueOf: (facts: PreflightFacts) => number | undefined;
    /** In how many parts pods are compared. */
    readonly partsOf?: (pod: ObservedPod) => number;
    readonly limitOf: (usual: number) => number;
    readonly what: string;
  },
): Check {
  return (pods) => {
    const known = pods.filter(({ report }) => valueOf(report.facts) !== undefined);
    if (known.length < LEAST_TO_COMPARE) return NOTHING;
    const partOf = (pod: ObservedPod): number => (valueOf(pod.report.facts) ?? 0) / partsOf(pod);
    const usual = median(known.map(partOf));
    const short = known.filter((pod) => partOf(pod) < limitOf(usual));
    return suspicionOf(short, check, (pod) => {
      const own = formatLimit(valueOf(pod.report.facts) ?? 0);
      return `${what} ${own} where ${formatLimit(usual * partsOf(pod))} is usual in this gang`;
    });
  };
}

function formatLimit(bytes: number): string {
  return bytes === Number.MAX_SAFE_INTEGER ? 'unlimited' : formatBytes(bytes);
}

/** Compared with the usual clock of the gang, not with that of rank 0, which can be wrong itself. */
function clock(pods: readonly ObservedPod[]): Suspicion {
  const known = pods.flatMap((pod) => {
    const { clock: read } = pod.report.facts;
    return read === undefined ? [] : [{ pod, ...read }];
  });
  if (known.length < LEAST_TO_COMPARE) return NOTHING;
  const usualMs = median(known.map(({ aheadMs }) => aheadMs));
  const off = known.filter(({ aheadMs, uncertaintyMs }) => {
    return Math.abs(aheadMs - usualMs) > CLOCK_LIMIT_MS + uncertaintyMs;
  });
  const aheadOf = new Map(off.map(({ pod, aheadMs }) => [pod, aheadMs - usualMs]));
  return suspicionOf([...aheadOf.keys()], 'clock', (pod) => {
    const ms = aheadOf.get(pod) ?? 0;
    return `its clock is ${formatDuration(Math.abs(ms))} ${ms > 0 ? 'ahead of' : 'behind'} the usual one of this gang`;
  });
}

function versions(pods: readonly ObservedPod[]): Suspicion {
  const each = VERSIONS.map(([field, what]) => differing(pods, { valueOf: (facts) => facts[field], what }));
  // What differs in PyTorch differs in the packages too: the first that speaks against a pod is enough.
  const suspects = each.flatMap((one) => one.suspects);
  const first = suspects.filter(
    ({ podIndex }, index) => suspects.findIndex((other) => other.podIndex === podIndex) === index,
  );
  return { suspects: first, notes: each.flatMap(({ notes }) => notes) };
}

function drivers(pods: readonly ObservedPod[]): Suspicion {
  const { suspects, notes } = differing(pods, { valueOf: ({ driver }) => driver, what: 'the NVIDIA driver' });
  return { suspects: [], notes: [...suspects.map(({ node, message }) => `node ${node}: ${message}`), ...notes] };
}

/** Finds pods whose value differs from that of more than half of the pods that know theirs. */
function differing(
  pods: readonly ObservedPod[],
  { valueOf, what }: { readonly valueOf: (facts: PreflightFacts) => string | undefined; readonly what: string },
): Suspicion {
  const known = pods.filter(({ report }) => valueOf(report.facts) !== undefined);
  const byValue = [...Map.groupBy(known, ({ report }) => valueOf(report.facts) ?? '')].toSorted(
    ([, one], [, other]) => other.length - one.length,
  );
  const [most] = byValue;
  if (most === undefined || byValue.length === 1) return NOTHING;
  const [usual, majority] = most;
  if (known.length < LEAST_TO_COMPARE || majority.length * 2 <= known.length) {
    const values = byValue.slice(0, 4).map(([value, same]) => `${value} in pod ${same[0]?.podIndex}`);
    return { suspects: [], notes: [`pods differ in ${what}: ${values.join(', ')}`] };
  }
  const others = known.filter(({ report }) => valueOf(report.facts) !== usual);
  return suspicionOf(others, 'versions', ({ report }) => {
    return `${what} is ${valueOf(report.facts) ?? ''} where most of this gang have ${usual}`;
  });
}

const NOTHING: Suspicion = { suspects: [], notes: [] };

function suspicionOf(
  pods: readonly ObservedPod[],
  check: CheckName,
  messageOf: (pod: ObservedPod) => string,
): Suspicion {
  const suspects = pods.map((pod) => ({ check, podIndex: pod.podIndex, node: pod.node, message: messageOf(pod) }));
  return { suspects, notes: [] };
}
