/** What fails, how often? Published counts of named fleets; where a number is ours it says so. */

/** How a fault shows: ranks end; nothing moves any more and nobody says why; results are wrong. */
export type FaultKind = 'crash' | 'hang' | 'sdc';

/**
 * What has to be replaced. software: nothing; ranks are started again where they are. device: the node, whose kubelet still answers. machine: the node,
 * which answers no more.
 */
export type Strikes = 'software' | 'device' | 'machine';

/** One published cause of interruptions, how often it occurred and what it takes out. */
export interface Cause {
  readonly name: string;
  /** Interruptions in the run that was published. */
  readonly count: number;
  readonly kind: FaultKind;
  readonly strikes: Strikes;
}

/** Failures of one published fleet, with its size and duration, from which rates follow. */
export interface FailurePreset {
  /** Where the counts were read. */
  readonly source: string;
  readonly nodes: number;
  readonly gpusPerNode: number;
  readonly days: number;
  readonly causes: readonly Cause[];
  /** Stops that people planned, in the same time. */
  readonly planned: number;
  /** Of all faults, those that take every node below one leaf switch. */
  readonly leafOutageShare: number;
  /** Nodes that are slow from the beginning, and how much the whole job is slower while one of them is in its gang. */
  readonly slowNodes: { readonly share: number; readonly jobSlowdown: number };
}

const NONE_SLOW = { share: 0, jobSlowdown: 1 };

const cause = (name: string, count: number, kind: FaultKind, strikes: Strikes): Cause => ({
  name,
  count,
  kind,
  strikes,
});

/** Published failure rates, by the name that `--failures` takes. */
export const FAILURES = {
  llama3: {
    source:
      'Llama 3 (arXiv 2407.21783, table 5): 419 unexpected and 47 planned interruptions of 16,384 H100 in 54 days. Which causes hang: ours.',
    nodes: 2048,
    gpusPerNode: 8,
    days: 54,
    planned: 47,
    leafOutageShare: 0,
    slowNodes: NONE_SLOW,
    causes: [
      cause('faulty GPU', 148, 'crash', 'device'),
      cause('HBM3 memory', 72, 'crash', 'device'),
      cause('software bug', 54, 'crash', 'software'),
      cause('network switch or cable', 35, 'crash', 'device'),
      cause('host maintenance', 32, 'crash', 'machine'),
      cause('GPU SRAM', 19, 'crash', 'device'),
      cause('GPU system processor', 17, 'hang', 'device'),
      cause('NIC', 7, 'hang', 'device'),
      cause('NCCL watchdog timeout', 7, 'hang', 'software'),
      cause('silent data corruption', 6, 'sdc', 'device'),
      cause('thermal interface or sensor', 6, 'crash', 'device'),
      cause('SSD', 3, 'crash', 'machine'),
      cause('power supply', 3, 'crash', 'machine'),
      cause('chassis', 2, 'crash', 'machine'),
      cause('IO board', 2, 'crash', 'machine'),
      cause('dependency', 2, 'crash', 'software'),
      cause('CPU', 2, 'crash', 'machine'),
      cause('DRAM', 2, 'crash', 'machine'),
    ],
  },
  megascale: {
    source:
      'MegaScale (arXiv 2402.15627): more than 100 restarts in several weeks on 12,288 GPUs, read as 110 in 35 days; slow hosts 0.5 % and their 0.7 % of MFU. No mix of causes is published: hangs as ByteRobust table 1 (9.9 %), software as Llama 3 (13 %).',
    nodes: 1536,
    gpusPerNode: 8,
    days: 35,
    planned: 0,
    leafOutageShare: 0,
    slowNodes: { share: 0.005, jobSlowdown: 1.007 },
    causes: [
      cause('hardware', 85, 'crash', 'device'),
      cause('software', 14, 'crash', 'software'),
      cause('hang', 11, 'hang', 'device'),
    ],
  },
  byterobust: {
    source:
      'ByteRobust (arXiv 2509.16293, table 4, dense): 175 incidents of 9,600 GPUs in three months by what resolved them; leaf switch outages of 32 machines 1 %.',
    nodes: 1200,
    gpusPerNode: 8,
    days: 90,
    planned: 0,
    leafOutageShare: 0.01,
    slowNodes: NONE_SLOW,
    causes: [
      cause('evict and restart', 128, 'crash', 'device'),
      cause('hot update', 20, 'crash', 'software'),
      cause('stack analysis and evict', 15, 'hang', 'device'),
      cause('rollback', 12, 'crash', 'software'),
    ],
  },
} as const satisfies Record<string, FailurePreset>;

/** A name of {@link FAILURES}. */
export type FailurePresetName = keyof typeof FAILURES;

/** Shapes that no fleet publishes as a whole (reliability.md 1.6 and 6.1): assumptions, bounded by small studies. */
export const SHAPES = {
  /** Failure rates of nodes are as gamma numbers of that shape: few nodes fail often (three of 63 caused half of all exclusions, arXiv 2605.09370). */
  lemonShape: 0.4,
  /** Restarts that fail again within ten minutes, with preflight. 0.3 without. */
  infantProbability: 0.05,
  infantSeconds: 600,
  /** Hardware faults that a restart of processes clears; conservative. DLRover saw up to 0.75. */
  transientShare: 0.25,
  /** Of the logarithm of durations. */
  sigma: { detect: 0.5, locate: 0.7, restart: 0.25, repair: 0.5 },
  /** Until a node that was taken away is mended or replaced, median. */
  repairHours: 24,
  /** Until a leaf switch works again, median. */
  leafOutageMinutes: 60,
} as const;
