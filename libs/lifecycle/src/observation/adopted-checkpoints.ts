/** Which adopted checkpoints does a job see? */
import { type Checkpoint, isAdopted, type TrainingJob } from '@coxswain/api-types';
import { adoptedSave } from '@coxswain/checkpoint';

/** Names of checkpoints that the job is asked to resume from, or was, and of the save that was converted for it. They may be ones that no job saved. */
export function namedCheckpoints({ spec, status }: TrainingJob): readonly string[] {
  const names = [spec.resumeFrom?.from, status?.resumeFrom?.from, status?.conversion?.converted];
  return [...new Set(names.filter((name) => typeof name === 'string'))];
}

/** The adopted ones of these checkpoints of the job's namespace, as the job sees them. */
export function adoptedFor(job: TrainingJob, named: readonly Checkpoint[]): readonly Checkpoint[] {
  return named.filter(isAdopted).map((checkpoint) => adoptedSave(checkpoint, job.metadata.uid));
}
