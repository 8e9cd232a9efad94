/** For which job are nodes held next? A pure function of jobs. */
import type { TrainingJob } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { namespaceOf } from './in-order.ts';

/** A waiting job that nodes may be held for. */
export interface Claim {
  readonly namespace: string;
  readonly gpus: number;
  readonly priority: number;
  /** When it asked for GPUs, in milliseconds. */
  readonly sinceMs: number;
  /** RFC 3339: since when nodes are held for the job. Absent: none are. */
  readonly promisedAt?: string | undefined;
}

/** A job that started: how many GPUs it got, and when, in milliseconds. */
export interface ServedStart {
  readonly gpus: number;
  readonly atMs: number;
}

/** Starts of each namespace. One that is both smaller and older than another tells nothing, and is left out. */
export type ServedStarts = ReadonlyMap<string, readonly ServedStart[]>;

/** A start of at least this share of the GPUs of a waiting job was a turn of its namespace. */
const LIKE = 0.5;
/** Waiting before the last such start counts less than waiting since: this share of it. Above 0, so that the weight of each job grows at all times. */
const BEFORE_LAST_TURN = 0.5;
/** A job that has just asked counts as one that has waited for a minute, so that of two such jobs the larger goes first. */
const LEAST_MS = 60_000;

/**
 * Orders waiting jobs as nodes are held for them: priority, then jobs for which nodes are held already, then by the time that they have waited times
 * the square root of their GPUs. The more nodes a job needs at the same time, the less likely it is to start without a reservation.
 */
export function inPromiseOrder<Job extends Claim>(
  jobs: readonly Job[],
  { nowMs, starts }: { readonly nowMs: number; readonly starts: ServedStarts },
): readonly Job[] {
  const weighed = jobs.map((job) => ({ job, weight: weightOf(job, nowMs, starts.get(job.namespace) ?? []) }));
  return weighed
    .toSorted(
      (one, other) =>
        other.job.priority - one.job.priority ||
        compareText(one.job.promisedAt ?? LAST, other.job.promisedAt ?? LAST) ||
        other.weight - one.weight ||
        one.job.sinceMs - other.job.sinceMs,
    )
    .map(({ job }) => job);
}

function weightOf({ gpus, sinceMs }: Claim, nowMs: number, starts: readonly ServedStart[]): number {
  const lastTurnMs = starts.reduce((latest, start) => {
    return start.gpus >= LIKE * gpus ? Math.max(latest, start.atMs) : latest;
  }, sinceMs);
  const waitedMs = nowMs - lastTurnMs + BEFORE_LAST_TURN * (lastTurnMs - sinceMs);
  return Math.max(LEAST_MS, waitedMs) * Math.sqrt(gpus);
}

/** Starts by namespace, from the newest attempt of each job. `begun`: starts that no status records yet. */
export function servedStarts(
  jobs: Iterable<TrainingJob>,
  begun: readonly (ServedStart & { readonly namespace: string })[] = [],
): ServedStarts {
  const starts = new Map<string, ServedStart[]>();
  const add = (namespace: string, start: ServedStart): void => {
    const before = starts.get(namespace) ?? [];
    if (before.some(({ gpus, atMs }) => gpus >= start.gpus && atMs >= start.atMs)) return;
    const kept = before.filter(({ gpus, atMs }) => gpus > start.gpus || atMs > start.atMs);
    starts.set(namespace, [...kept, start]);
  };
  for (const job of jobs) {
    const attempt = job.status?.attempts?.at(-1);
    const atMs = Date.parse(attempt?.startedAt ?? '');
    if (attempt !== undefined && !Number.isNaN(atMs)) add(namespaceOf(job), { gpus: worldSize(attempt.layout), atMs });
  }
  for (const { namespace, ...start } of begun) add(namespace, start);
  return starts;
}

/** After every RFC 3339 time. */
const LAST = '~';

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
