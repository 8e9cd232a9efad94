/** Which GPUs does each job hold, and until when? */
import { gpusOfPod, type PlacementSpec, type TrainingJob } from '@coxswain/api-types';
import type { JobName } from '../gang-request.ts';
import type { SchedulerView } from '../scheduler-view.ts';
import { namespaceOf } from '../order/in-order.ts';
import { isOverdue, predictedEnd, runningAttempt } from '../times/predicted-end.ts';
import type { GpusByNode } from './node-promise.ts';
import type { Holder } from './promise-input.ts';

/** Jobs that hold GPUs, and namespaces with a job that runs past its predicted end. */
export interface Held {
  readonly holders: readonly Holder[];
  readonly overdue: ReadonlySet<string>;
}

/** Predicted ends that are computed before other work may come first: about a millisecond. */
const ENDS_OF_STEP = 256;

/**
 * Every job with an attempt that has not ended, and every job for which this process has reserved nodes. The view is read at once; the ends are
 * predicted in steps, because thousands of jobs may run.
 */
export function heldInSteps(
  view: SchedulerView,
  reserved: readonly PlacementSpec[],
  now: Date,
): Generator<'pause', Held> {
  const reservedFor = new Map(reserved.map((placement) => [placement.jobUid, placement]));
  const jobs = view.jobs().filter((job) => runningAttempt(job) !== undefined || reservedFor.has(job.metadata.uid));
  const placements = view.placements();
  return (function* (): Generator<'pause', Held> {
    const byName = new Map(placements.map(({ metadata, spec }) => [`${spec.jobUid} ${metadata.name}`, spec]));
    const holders: Holder[] = [];
    const overdue = new Set<string>();
    for (const [index, job] of jobs.entries()) {
      if (index % ENDS_OF_STEP === 0) yield 'pause';
      const { uid } = job.metadata;
      const attempt = runningAttempt(job);
      const placement = (attempt && byName.get(`${uid} ${attempt.placement}`)) ?? reservedFor.get(uid);
      if (isOverdue(job, now)) overdue.add(namespaceOf(job));
      if (placement !== undefined)
        holders.push({ job: nameOf(job), gpus: gpusOfPlacement(placement), end: predictedEnd(job, now) });
    }
    return { holders, overdue };
  })();
}

/** How messages name the job. */
export function nameOf({ metadata: { uid, name, namespace = '' } }: TrainingJob): JobName {
  return { uid, name, namespace };
}

/** A placement never changes, and one of a large gang is long. */
const known = new WeakMap<PlacementSpec, GpusByNode>();

/** GPUs of all pods of a placement, by node. */
export function gpusOfPlacement(placement: PlacementSpec): GpusByNode {
  const before = known.get(placement);
  if (before !== undefined) return before;
  const gpus = new Map<string, number>();
  placement.nodes.forEach((name, podIndex) => {
    gpus.set(name, (gpus.get(name) ?? 0) + gpusOfPod(placement, podIndex));
  });
  known.set(placement, gpus);
  return gpus;
}
