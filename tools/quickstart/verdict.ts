import type { CheckpointRecord, Job } from '@coxswain/api-types';

/** What is known of the job at the end. */
export interface Outcome {
  readonly job: Pick<Job, 'state' | 'summary' | 'attempts'>;
  readonly checkpoints: readonly Pick<CheckpointRecord, 'name' | 'epoch' | 'step' | 'state'>[];
  /** Whether a rank was to be killed after the first checkpoint. */
  readonly killRank: boolean;
}

/** Why the quickstart did not show what it promises, as a sentence; undefined when it did. */
export function whyNotShown({ job, checkpoints, killRank }: Outcome): string | undefined {
  if (job.state !== 'Complete') return `the job did not complete; it is ${job.state}: ${job.summary}`;
  const damaged = checkpoints.find(({ state }) => state === 'Damaged');
  if (damaged !== undefined)
    return `the checkpoint ${damaged.name} of step ${damaged.step} is marked Damaged: it could not be read back`;
  return killRank ? whyNotResumed(job.attempts, checkpoints) : undefined;
}

function whyNotResumed(attempts: Job['attempts'], checkpoints: Outcome['checkpoints']): string | undefined {
  if (checkpoints.length === 0) return 'the job saved no checkpoint, so there was nothing to resume from';
  const savedIn = Math.min(...checkpoints.map(({ epoch }) => epoch));
  // In new pods, or as another incarnation in the same ones.
  const later = attempts.filter(({ epoch, incarnation = 1 }) => epoch > savedIn || incarnation > 1);
  if (later.length === 0) return 'no rank was killed after the first checkpoint, so there was nothing to resume';
  const fromScratch = later.find(({ resumedFrom }) => resumedFrom === undefined);
  return fromScratch === undefined
    ? undefined
    : `attempt ${fromScratch.epoch} started from step 0 although a checkpoint had been saved`;
}
