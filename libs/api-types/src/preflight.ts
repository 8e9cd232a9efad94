/** Preflight: checks in the pods of a gang before its first rank starts, and their records. */
import { z } from 'zod';
import { MAX_RANKS_PER_POD } from './pod-size.ts';
import { counter } from './status-fields.ts';

/** Levels of the preflight, each with its meaning. */
export const PREFLIGHT_LEVELS = {
  Off: 'No checks: ranks start as soon as their pod has its assignment.',
  Quick:
    'Checks devices, shared memory, limits, disk, clock and versions without loading PyTorch; takes about a second.',
  Full: 'Also checks the GPUs with PyTorch and measures the bandwidth between pods; takes some seconds more than PyTorch takes to load.',
} as const satisfies Record<string, string>;
/** Level of the preflight. */
export type PreflightLevel = keyof typeof PREFLIGHT_LEVELS;

/** Preflight of jobs without their own and without one of their runtime. */
export const DEFAULT_PREFLIGHT = { level: 'Quick', timeoutSeconds: 60 } as const;

/** What nodes are measured for before the first ranks start, and for how long. */
export const PreflightSpec = z
  .strictObject({
    level: z
      .enum(Object.keys(PREFLIGHT_LEVELS) as [PreflightLevel, ...PreflightLevel[]])
      .default(DEFAULT_PREFLIGHT.level)
      .describe(
        Object.entries(PREFLIGHT_LEVELS)
          .map(([level, meaning]) => `${level}: ${meaning}`)
          .join(' '),
      ),
    timeoutSeconds: z
      .int()
      .min(10)
      .max(600)
      .default(DEFAULT_PREFLIGHT.timeoutSeconds)
      .describe('Time limit once every pod of the gang has started; checks that are not done by then are left out.'),
  })
  .meta({ id: 'PreflightSpec' });
export type PreflightSpec = z.infer<typeof PreflightSpec>;

const word = z.string().max(64);

/** Facts that one pod reports of itself. An absent field could not be determined. */
export const PreflightFacts = z.strictObject({
  python: word.optional().describe('Version of Python.'),
  torch: word.optional().describe('Version of PyTorch.'),
  cuda: word.optional().describe('Version of CUDA.'),
  nccl: word.optional().describe('Version of NCCL.'),
  driver: word.optional(),
  /** Of the names and versions of the Python packages that the image holds. */
  packagesSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  gpus: z
    .array(z.strictObject({ name: word, memoryBytes: counter }))
    .max(MAX_RANKS_PER_POD)
    .optional(),
  sharedMemoryBytes: counter.optional(),
  /** Null: unlimited. */
  memlockBytes: counter.nullable().optional(),
  /** Free on the disk of the container, where it writes what it does not save. */
  scratchFreeBytes: counter.optional(),
  /** Of this pod's clock before that of the pod with rank 0, and how far that may be wrong. */
  clock: z
    .strictObject({ aheadMs: z.number().min(-1e15).max(1e15), uncertaintyMs: z.number().min(0).max(1e15) })
    .optional(),
});
export type PreflightFacts = z.infer<typeof PreflightFacts>;

/** Of one pod, over both phases. */
const MAX_PAIRS_PER_POD = 16;

/** One transfer between this pod and another one, as this pod saw it. */
export const PairMeasurement = z.strictObject({
  /** Index of the other pod. */
  peer: counter,
  round: z
    .int()
    .min(0)
    .max(MAX_PAIRS_PER_POD - 1),
  /** Null: it did not come about in time. */
  bytesPerSecond: z.number().min(0).max(1e15).nullable(),
});
export type PairMeasurement = z.infer<typeof PairMeasurement>;

/** Report of a launcher on its pod before the first rank starts. */
export const PreflightReport = z.strictObject({
  /** Done: every check ran. Partial: the note names what is missing. Skipped: no check could run. */
  outcome: z.enum(['Done', 'Partial', 'Skipped']),
  note: z.string().max(512).optional(),
  facts: PreflightFacts,
  pairs: z.array(PairMeasurement).max(MAX_PAIRS_PER_POD),
  tookMs: z.number().min(0).max(1e9),
});
export type PreflightReport = z.infer<typeof PreflightReport>;

/** Of one attempt, newest last; what is more is no news of single nodes. */
export const MAX_PREFLIGHT_NOTES = 8;

/** What came of the preflight of an attempt. */
export const AttemptPreflight = z
  .object({
    outcome: z
      .enum(['Passed', 'NodesNamed', 'Skipped'])
      .describe(
        'Passed: no node is to blame. NodesNamed: the attempt ended before its first rank and names the nodes to blame. Skipped: a pod could not run the checks, so no node was judged.',
      ),
    tookMs: counter.describe('Of the slowest pod, with waiting for the others.'),
    notes: z.array(z.string().max(256)).max(MAX_PREFLIGHT_NOTES).describe('What is worth knowing and no node’s doing.'),
  })
  .meta({ id: 'AttemptPreflight' });
export type AttemptPreflight = z.infer<typeof AttemptPreflight>;

/** Software and hardware of an attempt, as most of its pods report. The notes of its preflight list differences from the attempt before. */
export const Fingerprint = z
  .object({
    image: z.string().max(512).optional().describe('As the job or its runtime names it.'),
    python: word.optional().describe('Version of Python.'),
    torch: word.optional().describe('Version of PyTorch.'),
    cuda: word.optional().describe('Version of CUDA.'),
    nccl: word.optional().describe('Version of NCCL.'),
    driver: word.optional().describe('Of NVIDIA.'),
    packagesSha256: word.optional().describe('Of the names and versions of all Python packages of the image.'),
  })
  .meta({ id: 'Fingerprint' });
export type Fingerprint = z.infer<typeof Fingerprint>;
