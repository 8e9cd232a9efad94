import { isTrue, type TrainingJob } from '@coxswain/api-types';
import type { GangRequest } from '../gang-request.ts';
import type { QueuedJob } from './decide-quota.ts';
import { KUEUE_LABELS } from './kueue-names.ts';
import { digestOfRequest } from './workload-manifest.ts';

/** LocalQueue that the job's label names; undefined: it is not queued. */
export function queueNameOf({ metadata }: Pick<TrainingJob, 'metadata'>): string | undefined {
  const name = metadata.labels?.[KUEUE_LABELS.queueName];
  return name === '' ? undefined : name;
}

/** What a job asked of its queue last. */
export interface QuotaAsked {
  /** The attempt that it is for. */
  readonly epoch: number;
  readonly request: GangRequest;
  readonly room: QueuedJob['room'];
  /** What the running gang would ask for on all of its GPUs, which are free. Absent: it does not grow. */
  readonly growth?: GangRequest;
}

/**
 * What counts of a job for its Workload. A question for another attempt than the present one, or the next one if none is under way, does not count. An attempt is recorded as ended when its pods are gone or fenced, so an attempt that has not ended stands for
 * its pods.
 */
export function queuedJob(job: TrainingJob, asked: QuotaAsked | undefined): QueuedJob {
  const { metadata, status, spec } = job;
  const isComplete = isTrue(status?.conditions, 'Complete');
  const isFailed = isTrue(status?.conditions, 'Failed');
  const stops = spec.suspend === true || spec.cancel === true || metadata.deletionTimestamp !== undefined;
  const last = status?.attempts?.at(-1);
  const hasGang = last !== undefined && last.stage !== 'Ended';
  const epoch = (status?.epoch ?? 0) + (hasGang ? 0 : 1);
  const question = asked?.epoch === epoch ? asked : undefined;
  return {
    uid: metadata.uid,
    queueName: queueNameOf(job),
    wantsGang: !isComplete && !isFailed && !stops,
    hasGang,
    hasStarted: hasGang && isTrue(status?.conditions, 'Running'),
    ended: isComplete ? 'Succeeded' : isFailed ? 'Failed' : undefined,
    isSettled: hasGang && last.stage === 'Released',
    digest: question === undefined ? undefined : digestOfRequest(question.request),
    growth: question?.growth === undefined ? undefined : digestOfRequest(question.growth),
    room: question?.room,
  };
}

/** Of a job that is gone: nothing but its pods counts. */
export function goneJob(uid: string, hasGang: boolean): QueuedJob {
  const nothing = { queueName: undefined, ended: undefined, digest: undefined, growth: undefined, room: undefined };
  return { uid, wantsGang: false, hasGang, hasStarted: false, isSettled: false, ...nothing };
}
