/** Which GPUs does each job hold, and until when? */
import { type PlacementSpec, ranksOfPod, type TrainingJob } from '@coxswain/api-types';
import type { JobName } from '../gang-request.ts';
import type { SchedulerView } from '../scheduler-view.ts';
import { predictedEnd, runningAttempt } from '../times/predicted-end.ts';
import type { GpusByNode } from './node-promise.ts';
import type { Holder } from './promise-input.ts';

/** Every job with an attempt that has not ended, and every job for which this process has reserved nodes. */
export function holdersOf(view: SchedulerView, reserved: readonly PlacementSpec[], now: Date): readonly Holder[] {
  const byName = new Map(view.placements().map(({ metadata, spec }) => [`${spec.jobUid} ${metadata.name}`, spec]));
  const reservedFor = new Map(reserved.map((placement) => [placement.jobUid, placement]));
  return view.jobs().flatMap((job) => {
    const { uid } = job.metadata;
    const attempt = runningAttempt(job);
    const placement = (attempt && byName.get(`${uid} ${attempt.placement}`)) ?? reservedFor.get(uid);
    return placement === undefined
      ? []
      : [{ job: nameOf(job), gpus: gpusOfPlacement(placement), end: predictedEnd(job, now) }];
  });
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
    gpus.set(name, (gpus.get(name) ?? 0) + ranksOfPod(placement, podIndex).length);
  });
  known.set(placement, gpus);
  return gpus;
}
