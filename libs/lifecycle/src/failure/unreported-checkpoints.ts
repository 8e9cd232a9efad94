import {
  type Attempt,
  type CheckpointResourceSpec,
  recordedLocation,
  stepsOf,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { checkpointName, incarnationOf, saveDirectoryOf } from '@coxswain/checkpoint';
import { isBroken } from './broken-gang.ts';
import type { Facts } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { isOfFence, launcherOf } from '../observation/incarnation.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

/** A Checkpoint object that is to be created. */
export interface UnmadeCheckpoint {
  readonly name: string;
  readonly spec: CheckpointResourceSpec;
}

/**
 * Checkpoints that only a termination message or the report of a failed rank names: the launcher saved them while no operator listened.
 * They count until the end of their attempt is recorded, which waits for them. Later reports create no Checkpoint, for example from a pod
 * that was given up and ends at last, or from one that is kept for its logs.
 */
export function unreportedCheckpoints(record: JobRecord, facts: Facts): readonly UnmadeCheckpoint[] {
  const { job, spec } = facts;
  const place = spec?.checkpoint;
  const attempt = liveAttempt(record);
  if (spec === undefined || place === undefined || attempt === undefined || facts.deleting) return [];
  const { layout } = attempt;
  const fence = { epoch: attempt.epoch, incarnation: attempt.incarnation };
  const root = saveDirectoryOf({ metadata: job.metadata, spec }, fence);
  const { name: jobName, uid: jobUid } = job.metadata;
  const found = new Map<string, UnmadeCheckpoint>();
  for (const pod of podsOf(facts, attempt.epoch)) {
    // The launcher of a running pod reports the same over its connection before the next incarnation begins.
    const reported = pod.exit?.cause ?? launcherOf(facts, pod, attempt)?.cause;
    const cause = isOfFence(reported, attempt) ? reported : undefined;
    for (const { directory, step, format, bytes, files, manifestSha256 } of cause?.unreportedCheckpoints ?? []) {
      const saved = { format, bytes, files, manifestSha256 };
      const name = checkpointName(job.metadata, { ...fence, step });
      if (!isBeforeFence(step, attempt) || isBeyondTraining(spec, step) || isMade(name, facts)) continue;
      const about = { jobName, jobUid, ...incarnationOf(fence), epoch: fence.epoch, step, ...recordedLocation(place) };
      found.set(name, { name, spec: { ...about, path: `${root}/${directory}`, layout, ...saved } });
    }
  }
  return [...found.values()];
}

/** Whether the step is beyond the end of training. A report of such a save is rejected. */
export function isBeyondTraining(spec: Pick<TrainingJobSpec, 'training' | 'model'>, step: number): boolean {
  return step > (stepsOf(spec) ?? Infinity);
}

/**
 * Whether the object exists with a state. An object without a state was created by a process that died before the second write, which marks
 * it complete.
 */
export function isMade(name: string, { observed }: Facts): boolean {
  return observed.checkpoints.some(({ metadata, status }) => metadata.name === name && status?.state !== undefined);
}

/**
 * A failed gang is fenced when its failure is recorded with its last known step. Saves of later steps were made behind the fence. If no
 * step is known, because the engine reports none, the saves that the launcher verified count.
 */
function isBeforeFence(step: number, attempt: Attempt): boolean {
  return !isBroken(attempt) || attempt.lastStep === undefined || step <= attempt.lastStep;
}
