import type { QueueCluster, QueueJob } from '../load/queue-job.ts';
import { QUEUE_RULES, type QueueRuleName } from '../rules/rule-names.ts';
import { VIOLATIONS } from '../run/queue-auditor.ts';
import { measureRun, type QueueMeasures } from '../run/queue-measures.ts';
import { simulateQueue } from '../run/simulate-queue.ts';
import type { HistoryJob } from './history-job.ts';

/** A history to run again under each of some rules. */
export interface ReplayQuestion {
  readonly jobs: readonly HistoryJob[];
  /** Nodes of the cluster; absent: as many as the history needed at once. */
  readonly nodes?: number;
  readonly gpusPerNode: number;
  readonly rules: readonly QueueRuleName[];
  readonly stopwatch: () => number;
}

/** What came of it. */
export interface ReplayReport extends QueueCluster {
  /** Whether `nodes` is what the history needed at once. */
  readonly isPeak: boolean;
  readonly days: number;
  /** Jobs that still ran at the newest time of the history; they end there. */
  readonly stillRunning: number;
  /** As it was. */
  readonly history: QueueMeasures;
  readonly rules: readonly (QueueMeasures & { readonly rule: QueueRuleName })[];
}

const WEEK_MS = 7 * 86_400_000;

/** Runs the history under each rule. Yields how far it is, from 0 to 1. */
export function* replayHistory(question: ReplayQuestion): Generator<number, ReplayReport> {
  const { gpusPerNode, rules } = question;
  const { firstMs, lastMs } = spanOf(question.jobs);
  const peak = peakNodes(question.jobs, { gpusPerNode, lastMs });
  const cluster = { nodes: question.nodes ?? peak, gpusPerNode };
  const jobs = queueJobs(question.jobs, { firstMs, lastMs });
  const about = { cluster, windowMs: lastMs - firstMs };
  const measured: ReplayReport['rules'][number][] = [];
  for (const [index, rule] of rules.entries()) {
    const { stopwatch } = question;
    const run = simulateQueue({
      cluster,
      jobs,
      rule: QUEUE_RULES[rule].make(cluster),
      starvationMs: WEEK_MS,
      stopwatch,
    });
    let step = run.next();
    for (; step.done !== true; step = run.next()) yield (index + step.value) / rules.length;
    measured.push({ rule, ...measureRun(step.value, about) });
  }
  const stillRunning = question.jobs.filter(({ endMs }) => endMs === undefined).length;
  const history = measureRun(asItWas(question.jobs, jobs, firstMs), about);
  const days = (lastMs - firstMs) / 86_400_000;
  return { ...cluster, isPeak: question.nodes === undefined, days, stillRunning, history, rules: measured };
}

function spanOf(jobs: readonly HistoryJob[]): { readonly firstMs: number; readonly lastMs: number } {
  let [firstMs, lastMs] = [Infinity, -Infinity];
  for (const { submitMs, startMs, endMs } of jobs) {
    firstMs = Math.min(firstMs, submitMs);
    lastMs = Math.max(lastMs, endMs ?? startMs + 1_000);
  }
  return { firstMs, lastMs };
}

function queueJobs(
  jobs: readonly HistoryJob[],
  { firstMs, lastMs }: { readonly firstMs: number; readonly lastMs: number },
): readonly QueueJob[] {
  return jobs
    .map(({ id, namespace, pods, gpusPerPod, submitMs, startMs, endMs, predicted }, index) => ({
      uid: `${index}-${id}`,
      namespace,
      pods,
      gpusPerPod,
      priority: 0,
      submitMs: submitMs - firstMs,
      runMs: (endMs ?? lastMs) - startMs,
      ...(predicted === undefined ? {} : { predicted }),
    }))
    .toSorted((one, other) => one.submitMs - other.submitMs);
}

/** Nodes that hold as many GPUs as the jobs held at once, and the largest job. */
function peakNodes(
  jobs: readonly HistoryJob[],
  { gpusPerNode, lastMs }: { readonly gpusPerNode: number; readonly lastMs: number },
): number {
  const changes = jobs.flatMap(({ pods, gpusPerPod, startMs, endMs = lastMs }) => [
    { atMs: startMs, gpus: pods * gpusPerPod },
    { atMs: endMs, gpus: -pods * gpusPerPod },
  ]);
  let [held, most] = [0, 0];
  for (const { gpus } of changes.toSorted((one, other) => one.atMs - other.atMs || one.gpus - other.gpus)) {
    held += gpus;
    most = Math.max(most, held);
  }
  const largest = jobs.reduce((pods, job) => Math.max(pods, job.pods), 1);
  return Math.max(largest, Math.ceil(most / gpusPerNode));
}

function asItWas(
  history: readonly HistoryJob[],
  jobs: readonly QueueJob[],
  firstMs: number,
): Parameters<typeof measureRun>[0] {
  const startOf = new Map(history.map(({ id, startMs }, index) => [`${index}-${id}`, startMs - firstMs]));
  const outcomes = jobs.map((job) => {
    const startMs = startOf.get(job.uid) ?? job.submitMs;
    return { job, startMs, endMs: startMs + job.runMs };
  });
  const counts = Object.fromEntries(VIOLATIONS.map((kind) => [kind, 0])) as QueueMeasures['violations'];
  return { outcomes, audit: { counts, examples: [], promises: [] }, decisionMs: [] };
}
