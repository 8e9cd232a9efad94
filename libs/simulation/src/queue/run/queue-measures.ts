import type { JobOutcome, QueueCluster, QueueSpan } from '../load/queue-job.ts';
import type { Violation } from './queue-auditor.ts';
import type { QueueRun } from './simulate-queue.ts';

/** Waits of the jobs of one class, in hours; null: none of them started. */
export interface WaitMeasure {
  readonly jobs: number;
  readonly meanHours: number | null;
  readonly p50Hours: number | null;
  readonly p90Hours: number | null;
  readonly longestHours: number | null;
}

/** What a run is judged by. */
export interface QueueMeasures {
  readonly jobs: number;
  readonly neverStarted: number;
  /** Share of the GPU time of the window that jobs held. */
  readonly utilisation: number;
  readonly all: WaitMeasure;
  readonly oneNode: WaitMeasure;
  /** Jobs of at least a quarter of the cluster. */
  readonly largest: WaitMeasure;
  /** The same jobs by their priority, the highest first. */
  readonly largestByPriority: readonly (WaitMeasure & { readonly priority: number })[];
  /** Mean hours from submission to end: a job that starts on fewer pods waits less and trains for longer. Null: none ended. */
  readonly untilEnd: { readonly all: number | null; readonly largest: number | null };
  /** By number of pods, up to each power of two. */
  readonly byPods: readonly (WaitMeasure & { readonly upToPods: number })[];
  /** Errors of first promises as a share of the promised wait, at least 10 min; null: nothing was promised. */
  readonly promises: {
    readonly count: number;
    readonly errorP50: number;
    readonly errorP90: number;
    readonly lateP90: number;
  } | null;
  /** Jobs that made room for others, or grew again; null: none did. */
  readonly madeRoom: {
    readonly stops: number;
    /** How often a job took all of its pods again. */
    readonly grown: number;
    readonly jobs: number;
    /** Share of the GPU time that jobs held: saves, next starts and lost training. */
    readonly lostShare: number;
    /** Mean time until these jobs started again. */
    readonly meanHoursUntilNextStart: number | null;
  } | null;
  readonly violations: Readonly<Record<Violation, number>>;
  readonly examples: readonly string[];
  readonly decisions: number;
  readonly meanDecisionMs: number;
  readonly p99DecisionMs: number;
  readonly slowestDecisionMs: number;
}

const HOUR_MS = 3_600_000;
const LEAST_WAIT_MS = 600_000;

/** `windowMs`: the time in which jobs are submitted; utilisation is that of this time. */
export function measureRun(
  { outcomes, audit, decisionMs }: QueueRun,
  { cluster, windowMs }: { readonly cluster: QueueCluster; readonly windowMs: number },
): QueueMeasures {
  const slowest = decisionMs.toSorted((one, other) => one - other);
  return {
    jobs: outcomes.length,
    neverStarted: outcomes.filter(({ startMs }) => startMs === undefined).length,
    utilisation: utilisation(outcomes, { cluster, windowMs }),
    all: waits(outcomes),
    oneNode: waits(outcomes.filter(({ job }) => job.pods === 1)),
    largest: waits(outcomes.filter(({ job }) => job.pods >= cluster.nodes / 4)),
    largestByPriority: byPriority(outcomes.filter(({ job }) => job.pods >= cluster.nodes / 4)),
    untilEnd: {
      all: meanHoursUntilEnd(outcomes),
      largest: meanHoursUntilEnd(outcomes.filter(({ job }) => job.pods >= cluster.nodes / 4)),
    },
    byPods: byPowerOfTwo(outcomes),
    promises: promiseErrors(audit.promises),
    madeRoom: madeRoom(outcomes),
    violations: audit.counts,
    examples: audit.examples,
    decisions: decisionMs.length,
    meanDecisionMs: decisionMs.reduce((sum, ms) => sum + ms, 0) / Math.max(1, decisionMs.length),
    p99DecisionMs: quantile(slowest, 0.99) ?? 0,
    slowestDecisionMs: slowest.at(-1) ?? 0,
  };
}

function utilisation(
  outcomes: readonly JobOutcome[],
  { cluster, windowMs }: { readonly cluster: QueueCluster; readonly windowMs: number },
): number {
  const heldMs = outcomes.reduce((sum, outcome) => {
    const held = spansOf(outcome, windowMs).map(({ startMs, endMs, pods }) => {
      return pods * outcome.job.gpusPerPod * Math.max(0, Math.min(endMs, windowMs) - startMs);
    });
    return sum + held.reduce((gpuMs, one) => gpuMs + one, 0);
  }, 0);
  return heldMs / (cluster.nodes * cluster.gpusPerNode * Math.max(1, windowMs));
}

function spansOf({ job, startMs, endMs, runs }: JobOutcome, windowMs: number): readonly QueueSpan[] {
  if (runs !== undefined || startMs === undefined) return runs ?? [];
  return [{ startMs, endMs: endMs ?? windowMs, pods: job.pods, lostGpuMs: 0 }];
}

function madeRoom(outcomes: readonly JobOutcome[]): QueueMeasures['madeRoom'] {
  let [stops, grown, heldGpuMs, lostGpuMs] = [0, 0, 0, 0];
  const waits: number[] = [];
  const jobs = new Set<string>();
  for (const { job, runs = [] } of outcomes)
    for (const [at, span] of runs.entries()) {
      heldGpuMs += span.pods * job.gpusPerPod * (span.endMs - span.startMs);
      lostGpuMs += span.lostGpuMs;
      if (span.grew === true) grown += 1;
      if (span.lostGpuMs === 0 || span.grew === true) continue;
      stops += 1;
      jobs.add(job.uid);
      const next = runs[at + 1];
      if (next !== undefined) waits.push((next.startMs - span.endMs) / HOUR_MS);
    }
  if (stops === 0 && grown === 0) return null;
  const meanHoursUntilNextStart = waits.length === 0 ? null : waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
  return { stops, grown, jobs: jobs.size, lostShare: lostGpuMs / heldGpuMs, meanHoursUntilNextStart };
}

function meanHoursUntilEnd(outcomes: readonly JobOutcome[]): number | null {
  const hours = outcomes.flatMap(({ job, endMs }) => (endMs === undefined ? [] : (endMs - job.submitMs) / HOUR_MS));
  return hours.length === 0 ? null : hours.reduce((sum, hour) => sum + hour, 0) / hours.length;
}

function byPriority(outcomes: readonly JobOutcome[]): QueueMeasures['largestByPriority'] {
  return [...Map.groupBy(outcomes, ({ job }) => job.priority)]
    .toSorted(([one], [other]) => other - one)
    .map(([priority, ofPriority]) => ({ priority, ...waits(ofPriority) }));
}

function byPowerOfTwo(outcomes: readonly JobOutcome[]): QueueMeasures['byPods'] {
  const classOf = ({ job }: JobOutcome): number => 2 ** Math.ceil(Math.log2(job.pods));
  return [...Map.groupBy(outcomes, classOf)]
    .toSorted(([one], [other]) => one - other)
    .map(([upToPods, inClass]) => ({ upToPods, ...waits(inClass) }));
}

function waits(outcomes: readonly JobOutcome[]): WaitMeasure {
  const hours = outcomes
    .flatMap(({ job, startMs }) => (startMs === undefined ? [] : (startMs - job.submitMs) / HOUR_MS))
    .toSorted((one, other) => one - other);
  return {
    jobs: outcomes.length,
    meanHours: hours.length === 0 ? null : hours.reduce((sum, hour) => sum + hour, 0) / hours.length,
    p50Hours: quantile(hours, 0.5) ?? null,
    p90Hours: quantile(hours, 0.9) ?? null,
    longestHours: hours.at(-1) ?? null,
  };
}

function promiseErrors(promises: QueueRun['audit']['promises']): QueueMeasures['promises'] {
  if (promises.length === 0) return null;
  const errors = promises.map(({ promisedAtMs, promisedStartMs, startMs }) => {
    return (startMs - promisedStartMs) / Math.max(LEAST_WAIT_MS, promisedStartMs - promisedAtMs);
  });
  const ascending = (values: readonly number[]): readonly number[] => values.toSorted((one, other) => one - other);
  const absolute = ascending(errors.map(Math.abs));
  return {
    count: promises.length,
    errorP50: quantile(absolute, 0.5) ?? 0,
    errorP90: quantile(absolute, 0.9) ?? 0,
    lateP90: Math.max(0, quantile(ascending(errors), 0.9) ?? 0),
  };
}

/** By nearest rank, of ascending values. */
function quantile(ascending: readonly number[], share: number): number | undefined {
  return ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)];
}
