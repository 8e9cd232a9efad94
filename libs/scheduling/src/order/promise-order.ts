/** For which job are nodes held next? A pure function of jobs. */
import type { TrainingJob } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { namespaceOf } from './in-order.ts';

/** A waiting job that nodes may be held for. */
export interface WaitingJob {
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

/** Starts of each namespace, the oldest first. Of each size (a power of two) only the newest are kept: older ones change no order. */
export type ServedStarts = ReadonlyMap<string, readonly ServedStart[]>;

/** A start of at least this share of the GPUs of a waiting job was a turn of its namespace. */
const LIKE = 0.5;
/**
 * Waiting before a turn of the namespace counts less than waiting since: this share of it, and after two turns this share of this share. So a tenant with
 * any number of waiting gangs has a weight of at most twice the time between two of its turns, and a job of another tenant passes it: after four days
 * at the latest ({@link LONG_WAIT_MS}), because until then gangs of any tenant that have waited longer go first.
 */
const BEFORE_A_TURN = 0.5;
const TURNS_KEPT = 16;
/** Each job counts as one that asked a minute earlier, so that of two jobs that have just asked the larger goes first. */
const ASKED_EARLIER_MS = 60_000;
/**
 * A job that has waited longer goes before all that have not, however large they are: in simulated months, jobs of 16 of 512 nodes waited more than a week
 * behind larger ones. Of several such jobs, that of the namespace with fewer turns goes first.
 */
const LONG_WAIT_MS = 96 * 3_600_000;
/** More GPUs than this multiple of those of the smallest waiting job give no more weight: size multiplies the waiting time by at most eight. */
const MOST_TIMES_LARGER = 64;

/**
 * Orders waiting jobs as nodes are held for them: priority, then jobs for which nodes are held already, then those that have waited for four days, then
 * by the time that they have waited times the square root of their GPUs. The more nodes a job needs at the same time, the less likely it is to start
 * without a reservation.
 */
export function inPromiseOrder<Job extends WaitingJob>(
  jobs: readonly Job[],
  { nowMs, starts }: { readonly nowMs: number; readonly starts: ServedStarts },
): readonly Job[] {
  const mostGpus = MOST_TIMES_LARGER * jobs.reduce((least, { gpus }) => Math.min(least, gpus), Infinity);
  const weighed = jobs.map((job) => {
    const isOverdue = nowMs - job.sinceMs > LONG_WAIT_MS;
    const size = isOverdue ? 1 : Math.sqrt(Math.min(job.gpus, mostGpus));
    return { job, isOverdue, weight: countedMs(job, nowMs, starts.get(job.namespace) ?? []) * size };
  });
  return weighed
    .toSorted(
      (one, other) =>
        other.job.priority - one.job.priority ||
        compareText(one.job.promisedAt ?? LAST, other.job.promisedAt ?? LAST) ||
        Number(other.isOverdue) - Number(one.isOverdue) ||
        other.weight - one.weight ||
        one.job.sinceMs - other.job.sinceMs,
    )
    .map(({ job }) => job);
}

/** The time that the job has waited, with less for the time before turns of its namespace. */
function countedMs({ gpus, sinceMs }: WaitingJob, nowMs: number, starts: readonly ServedStart[]): number {
  let counted = 0;
  let fromMs = sinceMs - ASKED_EARLIER_MS;
  for (const start of starts) {
    if (start.atMs <= sinceMs || start.gpus < LIKE * gpus) continue;
    counted = (counted + start.atMs - fromMs) * BEFORE_A_TURN;
    fromMs = start.atMs;
  }
  return Math.max(0, counted + nowMs - fromMs);
}

/** Starts by namespace, from the newest attempt of each job. `begun`: starts that no status records yet. */
export function servedStarts(
  jobs: Iterable<TrainingJob>,
  begun: readonly (ServedStart & { readonly namespace: string })[] = [],
): ServedStarts {
  const found = [...begun];
  for (const job of jobs) {
    const attempt = job.status?.attempts?.at(-1);
    const atMs = Date.parse(attempt?.startedAt ?? '');
    if (attempt !== undefined && !Number.isNaN(atMs))
      found.push({ namespace: namespaceOf(job), gpus: worldSize(attempt.layout), atMs });
  }
  const newestFirst = found.toSorted((one, other) => other.atMs - one.atMs);
  const starts = new Map<string, ServedStart[]>();
  const kept = new Map<string, number>();
  for (const { namespace, gpus, atMs } of newestFirst) {
    const kind = `${String(Math.ceil(Math.log2(gpus)))} ${namespace}`;
    const count = kept.get(kind) ?? 0;
    if (count >= TURNS_KEPT) continue;
    kept.set(kind, count + 1);
    const ofNamespace = starts.get(namespace) ?? [];
    ofNamespace.push({ gpus, atMs });
    starts.set(namespace, ofNamespace);
  }
  return new Map([...starts].map(([namespace, list]) => [namespace, list.toReversed()]));
}

/** After every RFC 3339 time. */
const LAST = '~';

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
