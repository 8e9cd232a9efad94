import { type Attempt, type CheckpointResourceSpec, stepsOf, type TrainingJobSpec } from '@coxswain/api-types';
import { checkpointName, incarnationOf, saveDirectoryOf } from '@coxswain/checkpoint';
import { isBroken } from './broken-gang.ts';
import type { Facts } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { isOfFence, launcherOf } from '../observation/incarnation.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

/** A Checkpoint object that is to be made. */
export interface UnmadeCheckpoint {
  readonly name: string;
  readonly spec: CheckpointResourceSpec;
}

/**
 * Checkpoints that only a termination message, or the report of a failed rank, tells of: the launcher saved them while no operator listened. They count until the end of their
 * attempt is recorded, which waits for them. After that nothing that a pod says brings a Checkpoint into being: neither a pod that was given up
 * and ends at last, nor one that is kept for its logs when somebody has deleted the object.
 */
export function unreportedCheckpoints(record: JobRecord, facts: Facts): readonly UnmadeCheckpoint[] {
  const { job, spec } = facts;
  const claimName = spec?.checkpoint?.claimName;
  const attempt = liveAttempt(record);
  if (spec === undefined || claimName === undefined || attempt === undefined || facts.deleting) return [];
  const { layout } = attempt;
  const fence = { epoch: attempt.epoch, incarnation: attempt.incarnation };
  const root = saveDirectoryOf({ metadata: job.metadata, spec }, fence);
  const { name: jobName, uid: jobUid } = job.metadata;
  const found = new Map<string, UnmadeCheckpoint>();
  for (const pod of podsOf(facts, attempt.epoch)) {
    // Of a pod that lives on its launcher says the same over its connection, before the next incarnation begins.
    const said = pod.exit?.cause ?? launcherOf(facts, pod, attempt)?.cause;
    const cause = isOfFence(said, attempt) ? said : undefined;
    for (const { directory, step, ...saved } of cause?.unreportedCheckpoints ?? []) {
      const name = checkpointName(job.metadata, { ...fence, step });
      if (!isBeforeFence(step, attempt) || isBeyondTraining(spec, step) || isMade(name, facts)) continue;
      const about = { jobName, jobUid, ...incarnationOf(fence), epoch: fence.epoch, step, claimName };
      found.set(name, { name, spec: { ...about, path: `${root}/${directory}`, layout, ...saved } });
    }
  }
  return [...found.values()];
}

/** Whether the job never comes to that step: whoever says that it was saved is not to be believed, by whichever way it is said. */
export function isBeyondTraining(spec: Pick<TrainingJobSpec, 'training' | 'model'>, step: number): boolean {
  return step > (stepsOf(spec) ?? Infinity);
}

/** Whether the object is there. One without a state was made by somebody who died before the second write, which says that it is complete. */
export function isMade(name: string, { observed }: Facts): boolean {
  return observed.checkpoints.some(({ metadata, status }) => metadata.name === name && status?.state !== undefined);
}

/**
 * A gang that has failed is fenced when that is recorded, with the last step that was known of it. Steps are the gang's own clock: what was saved
 * later was saved behind the fence. Where no step is known (an engine that tells none), what the launcher verified counts.
 */
function isBeforeFence(step: number, attempt: Attempt): boolean {
  return !isBroken(attempt) || attempt.lastStep === undefined || step <= attempt.lastStep;
}
