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

/**
 * What counts of a job for its Workload. An attempt is recorded as ended when its pods are gone or fenced, so an attempt that has not ended stands for
 * its pods.
 */
export function queuedJob(
  job: TrainingJob,
  question: { readonly request: GangRequest; readonly room: QueuedJob['room'] } | undefined,
): QueuedJob {
  const { metadata, status, spec } = job;
  const isComplete = isTrue(status?.conditions, 'Complete');
  const isFailed = isTrue(status?.conditions, 'Failed');
  const stops = spec.suspend === true || spec.cancel === true || metadata.deletionTimestamp !== undefined;
  const last = status?.attempts?.at(-1);
  const hasGang = last !== undefined && last.stage !== 'Ended';
  return {
    uid: metadata.uid,
    queueName: queueNameOf(job),
    wantsGang: !isComplete && !isFailed && !stops,
    hasGang,
    hasStarted: hasGang && isTrue(status?.conditions, 'Running'),
    ended: isComplete ? 'Succeeded' : isFailed ? 'Failed' : undefined,
    digest: question === undefined ? undefined : digestOfRequest(question.request),
    room: question?.room,
  };
}

/** Of a job that is gone: nothing but its pods counts. */
export function goneJob(uid: string, hasGang: boolean): QueuedJob {
  const nothing = { queueName: undefined, hasStarted: false, ended: undefined, digest: undefined, room: undefined };
  return { uid, wantsGang: false, hasGang, ...nothing };
}
