import type { QueueJob } from '../load/queue-job.ts';
import type { QueueRule } from '../rules/queue-rule.ts';
import { type QueueRun, simulateQueue } from '../run/simulate-queue.ts';

/** Four nodes of 8 GPUs. */
export const FOUR_NODES = { nodes: 4, gpusPerNode: 8 };

const HOUR_MS = 3_600_000;

/** A job of whole nodes whose predicted end is exact; times in hours. */
export function aQueueJob(
  about: {
    readonly uid: string;
    readonly pods: number;
    readonly submit: number;
    readonly run: number;
  } & Partial<QueueJob>,
): QueueJob {
  const { submit, run, ...rest } = about;
  const runMs = run * HOUR_MS;
  const predicted = { runMs, latestMs: runMs };
  return { namespace: 'team', gpusPerPod: 8, priority: 0, submitMs: submit * HOUR_MS, runMs, predicted, ...rest };
}

/** The whole run. */
export function runToEnd(
  rule: QueueRule,
  jobs: readonly QueueJob[],
  about: { readonly cluster?: typeof FOUR_NODES; readonly starvationHours?: number } = {},
): QueueRun {
  const { cluster = FOUR_NODES, starvationHours = 168 } = about;
  const question = { cluster, jobs, rule, starvationMs: starvationHours * HOUR_MS, stopwatch: () => 0 };
  const run = simulateQueue(question);
  for (let step = run.next(); ; step = run.next()) if (step.done === true) return step.value;
}

/** Start of each job, in hours; null: never. */
export function startsOf({ outcomes }: QueueRun): Readonly<Record<string, number | null>> {
  return Object.fromEntries(
    outcomes.map(({ job, startMs }) => [job.uid, startMs === undefined ? null : startMs / HOUR_MS]),
  );
}
