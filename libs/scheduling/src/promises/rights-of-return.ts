/**
 * Which jobs made room for another one, and get their nodes back first when that one has ended? And which stopped to grow, and keep their nodes meanwhile?
 * Read from status: a new leader finds the same.
 */
import { type Attempt, type ForClaim, isFinished, type Placement, type TrainingJob } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import type { JobName } from '../gang-request.ts';
import { priorityOf } from '../order/priority.ts';
import { recordedClaim } from '../reservations/recorded-claim.ts';
import type { SchedulerView } from '../scheduler-view.ts';
import { runningAttempt } from '../times/predicted-end.ts';
import { gpusOfPlacement, nameOf } from './holders.ts';
import type { GpusByNode } from './node-promise.ts';

/** How long the nodes are kept once the other job has ended. */
const OPEN_MS = 120_000;
/** A gang that stopped in that time to take them back may take so long to start. */
const START_MS = 600_000;
/** After a day the right is over, whatever the other job does. */
const KEPT_MS = 86_400_000;

/** Nodes that a job left for another one, or to start again on more. */
export interface RightOfReturn {
  readonly job: JobName;
  readonly priority: number;
  /** Its attempt that left them. */
  readonly epoch: number;
  /** What it has not got back. */
  readonly gpus: GpusByNode;
  /** Until then no other job of its priority or a lower one gets them. Absent: the job that got them has not ended. */
  readonly until?: Date;
}

/** The right of that job; undefined: it left no nodes, has as many GPUs as before, does not want them, or the right is over. */
export function rightOfReturn(
  job: TrainingJob,
  view: Pick<SchedulerView, 'job' | 'placements'>,
  now: Date,
): RightOfReturn | undefined {
  if (isAskedToStop(job) || isFinished(job)) return undefined;
  return rightAfterClaim(job, view, now) ?? rightToGrow(job, view, now);
}

/** A gang that stopped to grow starts again at least on the nodes that it left. Those that it wants besides may be held for others meanwhile. */
function rightToGrow(job: TrainingJob, view: Pick<SchedulerView, 'placements'>, now: Date): RightOfReturn | undefined {
  const last = job.status?.attempts?.at(-1);
  if (last === undefined || !hasStoppedToGrow(job)) return undefined;
  const until = new Date(Date.parse(last.stoppingAt ?? '') + START_MS);
  if (!(now < until)) return undefined;
  const gpus = gpusOn(job, view.placements(), last.placement);
  return { job: nameOf(job), priority: priorityOf(job), epoch: last.epoch, gpus, until };
}

function rightAfterClaim(
  job: TrainingJob,
  view: Pick<SchedulerView, 'job' | 'placements'>,
  now: Date,
): RightOfReturn | undefined {
  const attempts = job.status?.attempts ?? [];
  const index = attempts.findLastIndex(({ forClaim }) => forClaim !== undefined);
  const made = attempts[index];
  if (made?.forClaim === undefined) return undefined;
  const gpus = worldSize(made.layout);
  if (attempts.slice(index + 1).some(({ layout }) => worldSize(layout) >= gpus)) return undefined;
  const overMs = Date.parse(made.stoppingAt ?? '') + KEPT_MS;
  const untilMs = untilOf({ made, forClaim: made.forClaim, last: attempts.at(-1) }, view, now);
  if (!(now.getTime() < Math.min(overMs, untilMs ?? Infinity))) return undefined;
  return {
    job: nameOf(job),
    priority: priorityOf(job),
    epoch: made.epoch,
    gpus: missingGpus(job, { made, gpus, placements: view.placements() }),
    ...(untilMs === undefined ? {} : { until: new Date(Math.min(overMs, untilMs)) }),
  };
}

/** Milliseconds; undefined: the other job has not ended, or the gang still stops for it. */
function untilOf(
  about: { readonly made: Attempt; readonly forClaim: ForClaim; readonly last: Attempt | undefined },
  view: Pick<SchedulerView, 'job'>,
  now: Date,
): number | undefined {
  const { made, forClaim, last } = about;
  const recordedMs = forClaim.returnUntil === undefined ? undefined : Date.parse(forClaim.returnUntil);
  const endMs = made.stage === 'Ended' ? endOf(forClaim, view.job(forClaim.uid), now) : undefined;
  const untilMs =
    recordedMs ?? (endMs === undefined ? undefined : Math.max(endMs, Date.parse(made.endedAt ?? '') || 0) + OPEN_MS);
  if (untilMs === undefined) return undefined;
  const stoppedMs = last?.outcome === 'Resized' ? Date.parse(last.stoppingAt ?? '') : NaN;
  return stoppedMs <= untilMs ? stoppedMs + START_MS : untilMs;
}

/** Since when the job that got the nodes does not need them; undefined: it does. One that fails starts again. One that is gone has just ended. */
function endOf({ epoch }: ForClaim, claimant: TrainingJob | undefined, now: Date): number | undefined {
  if (claimant === undefined) return now.getTime();
  const { status } = claimant;
  const claim = recordedClaim(claimant);
  if (runningAttempt(claimant) !== undefined || claim?.epoch === epoch) return undefined;
  if (isFinished(claimant) || isAskedToStop(claimant))
    return Date.parse(status?.attempts?.at(-1)?.endedAt ?? '') || now.getTime();
  if ((status?.epoch ?? 0) >= epoch) return undefined;
  return Date.parse(status?.claim?.end?.at ?? '') || now.getTime();
}

function isAskedToStop({ metadata, spec }: TrainingJob): boolean {
  return metadata.deletionTimestamp !== undefined || spec.suspend || spec.cancel;
}

/**
 * On the nodes that the job left: as many GPUs as it had then, without those that it uses now. A gang that has stopped to grow also gets the nodes
 * that it leaves for that.
 */
function missingGpus(
  job: TrainingJob,
  about: { readonly made: Attempt; readonly gpus: number; readonly placements: readonly Placement[] },
): GpusByNode {
  const { made, gpus, placements } = about;
  const on = (name: string): GpusByNode => gpusOn(job, placements, name);
  const last = job.status?.attempts?.at(-1);
  const newest = last === undefined || last.epoch === made.epoch ? NONE : on(last.placement);
  // Pods of a gang that stops may be gone already.
  const isRunning = runningAttempt(job) !== undefined && last?.stage !== 'Stopping';
  const own = isRunning ? sumOf(newest) : 0;
  const left = new Map(on(made.placement));
  for (const [name, count] of newest) left.set(name, isRunning ? Math.max(0, (left.get(name) ?? 0) - count) : count);
  const taken = new Map<string, number>();
  let missing = gpus - own;
  for (const [name, count] of left) {
    const part = Math.min(count, missing);
    if (part > 0) taken.set(name, part);
    missing -= part;
  }
  return taken;
}

/** GPUs of the job's placement of that name. */
function gpusOn({ metadata: { uid } }: TrainingJob, placements: readonly Placement[], name: string): GpusByNode {
  const found = placements.find(({ metadata, spec }) => spec.jobUid === uid && metadata.name === name);
  return found === undefined ? NONE : gpusOfPlacement(found.spec);
}

const NONE: GpusByNode = new Map();

function sumOf(gpus: GpusByNode): number {
  return [...gpus.values()].reduce((sum, count) => sum + count, 0);
}

/** The rights of all jobs. Only jobs that left nodes are looked up again. */
export class RightsOfReturn {
  readonly #view: SchedulerView;
  /** UIDs of jobs that left nodes. Absent before the first question. */
  #left: Set<string> | undefined;
  #known: { readonly atMs: number; readonly rights: readonly RightOfReturn[] } | undefined;

  constructor(view: SchedulerView) {
    this.#view = view;
  }

  /** The job changed, or was deleted (`after` undefined). */
  jobChanged({ metadata: { uid } }: TrainingJob, after: TrainingJob | undefined): void {
    this.#known = undefined;
    if (after !== undefined && hasLeftNodes(after)) this.#left?.add(uid);
    else this.#left?.delete(uid);
  }

  /** At this moment. */
  all(): readonly RightOfReturn[] {
    const view = this.#view;
    const now = view.now?.();
    this.#left ??= new Set(view.jobs().flatMap((job) => (hasLeftNodes(job) ? job.metadata.uid : [])));
    if (now === undefined || this.#left.size === 0) return [];
    if (this.#known?.atMs !== now.getTime()) {
      const jobs = [...this.#left].flatMap((uid) => view.job(uid) ?? []);
      this.#known = { atMs: now.getTime(), rights: jobs.flatMap((job) => rightOfReturn(job, view, now) ?? []) };
    }
    return this.#known.rights;
  }
}

function hasLeftNodes(job: TrainingJob): boolean {
  return job.status?.attempts?.some(({ forClaim }) => forClaim !== undefined) === true || hasStoppedToGrow(job);
}

function hasStoppedToGrow({ status }: TrainingJob): boolean {
  const last = status?.attempts?.at(-1);
  return last?.outcome === 'Resized' && last.forClaim === undefined;
}
