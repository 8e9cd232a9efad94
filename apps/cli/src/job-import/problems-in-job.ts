import { JobCreate } from '@coxswain/api-types';
import { problemsIn } from '../output/problems-in.ts';
import type { WrittenJob } from './written-job.ts';

/** What keeps a job from being submitted, a paragraph for each problem; undefined: nothing. */
export function problemsInJob(job: WrittenJob): string | undefined {
  const { error } = JobCreate.safeParse(job, { reportInput: true });
  return error === undefined ? undefined : problemsIn(error, { schema: JobCreate, whole: 'the job' }).join('\n');
}
