import {
  type JobStart,
  MAX_QUEUE_EVENTS,
  MAX_QUEUE_USES,
  type PastStarts,
  type Queue,
  type QueueEvent,
  type QueueJob,
  type QueueJobName,
  type QueueStart,
  type QueueUse,
  type QueueWindow,
} from '@coxswain/api-types';
import {
  type ClusterForecast,
  type ForecastOfJob,
  priorityOf,
  timeline,
  type TimelineEvent,
  type TriedChange,
  waitingSince,
} from '@coxswain/scheduling';
import { changeSentence, constraintSentence } from './queue-sentences.ts';
import type { QueueSnapshot, SnapshotWindow } from './queue-snapshot.ts';

const DAY_MS = 86_400_000;

/** Names by UID of the jobs that the caller may see. Every other job stays without a name. */
export type VisibleNames = ReadonlyMap<string, QueueJobName>;

/** What an answer adds to the snapshot. */
export interface QueueAnswerFacts {
  readonly names: VisibleNames;
  readonly use: readonly QueueUse[];
  readonly starts: PastStarts;
  /** Projects that the caller may see, by namespace. */
  readonly projectOf: ReadonlyMap<string, string>;
  /** Most jobs. */
  readonly limit: number;
}

/** The queue as the caller may see it. */
export function queueAnswer(snapshot: QueueSnapshot, facts: QueueAnswerFacts): Queue {
  const { names, use, starts, projectOf, limit } = facts;
  const { now, forecast } = snapshot;
  const until = now.getTime() + DAY_MS;
  const waiting = forecast.jobs;
  const events = snapshot.problem === undefined ? timeline(forecast.input, waiting, until) : [];
  const byUid = gpusByUid(snapshot);
  return {
    asOf: now.toISOString(),
    totalGpus: snapshot.totalGpus,
    freeGpus: snapshot.freeGpus,
    waitingJobs: waiting.length,
    waitingGpus: waiting.reduce((sum, { uid }) => sum + (byUid.get(uid) ?? 0), 0),
    oldestWaitSeconds: oldestWaitSeconds(snapshot),
    problem: snapshot.problem ?? null,
    items: shown(waiting, names, limit).map((job) => queueJob(job, { snapshot, names, byUid })),
    hasMore: waiting.length > limit,
    timelineUntil: new Date(until).toISOString(),
    timeline: shown(events, names, MAX_QUEUE_EVENTS).map((event) => queueEvent(event, names)),
    hasMoreEvents: events.length > MAX_QUEUE_EVENTS,
    windows: snapshot.windows.map((window) => queueWindow(window, projectOf)),
    use: use.slice(0, MAX_QUEUE_USES),
    starts,
  };
}

/** A window that is kept for a project has no name for anybody who may not see that project. */
function queueWindow(
  { window: { name, fromMs, untilMs, namespace }, nodes }: SnapshotWindow,
  projectOf: ReadonlyMap<string, string>,
): QueueWindow {
  const project = projectOf.get(namespace ?? '') ?? null;
  return {
    kind: namespace === undefined ? 'Maintenance' : 'Project',
    name: namespace === undefined || project !== null ? name : null,
    project,
    from: iso(fromMs),
    until: iso(untilMs),
    nodes,
  };
}

/** UIDs of all jobs that an answer may name. */
export function uidsOf({ forecast: { input } }: QueueSnapshot): readonly string[] {
  return [...input.waiting, ...input.running].map(({ uid }) => uid);
}

/** When that job starts, and what would let it start earlier. */
export function jobStart(
  snapshot: QueueSnapshot,
  uid: string | null,
  { names, tried }: { readonly names: VisibleNames; readonly tried: readonly TriedChange[] },
): JobStart {
  const { forecast, jobs, problem } = snapshot;
  const of = forecast.jobs.find((job) => job.uid === uid);
  const recorded = jobs.get(uid ?? '')?.job;
  const shared = {
    asOf: snapshot.now.toISOString(),
    waitingJobs: forecast.jobs.length,
    problem: of === undefined ? null : (problem ?? null),
  };
  if (of === undefined || recorded === undefined) return { ...shared, place: null, changes: [] };
  const byUid = gpusByUid(snapshot);
  const gpus = byUid.get(of.uid) ?? 0;
  return {
    ...shared,
    place: queueJob(of, { snapshot, names, byUid }),
    changes: tried.map((change) => ({
      kind: change.kind,
      amount: change.amount,
      gpuType: change.gpuType ?? null,
      start: new Date(change.startMs).toISOString(),
      sentence: changeSentence(change, gpus),
    })),
  };
}

/** Seconds since the job that waits longest asked; null: no job waits. */
function oldestWaitSeconds({ now, forecast, jobs }: QueueSnapshot): number | null {
  const since = forecast.jobs.flatMap(({ uid }) => {
    const job = jobs.get(uid)?.job;
    const ms = job === undefined ? Number.NaN : Date.parse(waitingSince(job));
    return Number.isNaN(ms) ? [] : [ms];
  });
  if (since.length === 0) return null;
  const oldestMs = since.reduce((left, right) => Math.min(left, right));
  return Math.max(0, Math.round((now.getTime() - oldestMs) / 1_000));
}

/** At most so many, those with a name before others, in their order. */
function shown<T extends { readonly uid: string }>(
  items: readonly T[],
  names: VisibleNames,
  limit: number,
): readonly T[] {
  if (items.length <= limit) return items;
  const named = items.filter(({ uid }) => names.has(uid)).slice(0, limit);
  const others = items.filter(({ uid }) => !names.has(uid)).slice(0, limit - named.length);
  const kept = new Set([...named, ...others]);
  return items.filter((item) => kept.has(item));
}

function gpusByUid({ forecast: { input } }: QueueSnapshot): ReadonlyMap<string, number> {
  return new Map(input.waiting.map((gang) => [gang.uid, gpusOf(gang)]));
}

/** GPUs that a job asks for; 0: it does not wait. */
export function gpusOf(gang: ClusterForecast['input']['waiting'][number] | undefined): number {
  return (gang?.parts ?? []).reduce((sum, { gpus }) => sum + gpus, 0);
}

function queueJob(
  of: ForecastOfJob,
  about: {
    readonly snapshot: QueueSnapshot;
    readonly names: VisibleNames;
    readonly byUid: ReadonlyMap<string, number>;
  },
): QueueJob {
  const { snapshot, names, byUid } = about;
  const job = snapshot.jobs.get(of.uid)?.job;
  const { kind, gpuType, needed, free } = of.constraint;
  const sentence = snapshot.problem ?? constraintSentence(of.constraint, of.position === 1);
  return {
    position: of.position,
    job: names.get(of.uid) ?? null,
    priority: job === undefined ? 0 : priorityOf(job),
    gpus: byUid.get(of.uid) ?? 0,
    waitingSince: job === undefined ? snapshot.now.toISOString() : waitingSince(job),
    start: of.start === undefined || snapshot.problem !== undefined ? null : queueStart(of.start),
    constraint: { kind, gpuType: gpuType ?? null, needed, free, sentence },
  };
}

function queueEvent(event: TimelineEvent, names: VisibleNames): QueueEvent {
  return { kind: event.kind, job: names.get(event.uid) ?? null, gpus: event.gpus, ...queueStart(event) };
}

function queueStart({
  atMs,
  earliestMs,
  latestMs,
  restsOn,
  isPromised,
}: NonNullable<ForecastOfJob['start']>): QueueStart {
  return {
    at: iso(atMs),
    earliest: iso(earliestMs),
    latest: latestMs === undefined || latestMs === Infinity ? null : iso(latestMs),
    restsOn,
    nodesHeld: isPromised,
  };
}

/** The last second that RFC 3339 can write. */
const MAX_TIME_MS = Date.parse('9999-12-31T23:59:59Z');

function iso(ms: number): string {
  return new Date(Math.min(ms, MAX_TIME_MS)).toISOString();
}
