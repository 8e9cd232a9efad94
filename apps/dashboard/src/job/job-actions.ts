/** What may be done with a job, and what is lost by it. */
import type { Job, JobSummary } from '@coxswain/api-types';
import { formatCount } from '@coxswain/units';

/** A job as far as this asks. Lists have no spec. */
export type ActedJob = Pick<Job, 'id' | 'name' | 'state' | 'progress' | 'checkpoint'> & Pick<JobSummary, 'spec'>;

export const JOB_ACTIONS = ['resume', 'suspend', 'cancel', 'delete'] as const;
export type JobAction = (typeof JOB_ACTIONS)[number];

/** The cluster has no object of these any more, or never had one, or removes it already. */
const GONE: readonly Job['state'][] = ['Deleting', 'Deleted', 'Refused'];
const ENDED: readonly Job['state'][] = ['Complete', 'Failed', 'Cancelled'];
const SUSPENDED: readonly Job['state'][] = ['Suspended', 'Suspending'];

/** Actions that the API takes now. */
export function actionsOf({ state, spec }: ActedJob): readonly JobAction[] {
  if (GONE.includes(state)) return [];
  if (ENDED.includes(state)) return ['delete'];
  if (state === 'Stopping' || spec?.cancel === true) return ['delete'];
  const isSuspended = spec?.suspend ?? SUSPENDED.includes(state);
  return [isSuspended ? 'resume' : 'suspend', 'cancel', 'delete'];
}

const WHAT_HAPPENS: Readonly<Record<JobAction, string>> = {
  resume: 'It continues from its newest checkpoint.',
  suspend: 'Its ranks stop, and its GPUs become free.',
  cancel: 'It ends for good and cannot be resumed. Its checkpoints stay.',
  delete: 'The job and its pods are deleted from the cluster. Its checkpoints and its record stay.',
};

/** What a person should know before; undefined: nothing is lost, so no question is asked. */
export function warningOf(action: JobAction, job: ActedJob): string | undefined {
  if (action === 'resume') return undefined;
  const lost = lossOf(job);
  if (action === 'suspend' && (lost === undefined || job.checkpoint !== null || job.spec?.checkpoint !== undefined))
    return undefined;
  return [WHAT_HAPPENS[action], lost].filter((sentence) => sentence !== undefined).join(' ');
}

/** Which steps are lost if the job stops now; undefined: none, because it has made none or does not run. */
function lossOf({ state, progress, checkpoint, spec }: ActedJob): string | undefined {
  const isStopped = ENDED.includes(state) || state === 'Suspended';
  const step = progress?.step ?? 0;
  const unsaved = step - (checkpoint?.step ?? 0);
  if (isStopped || unsaved <= 0) return undefined;
  const [steps, are] = [formatCount(unsaved, 'step'), unsaved === 1 ? 'is' : 'are'];
  if (spec !== undefined && spec.checkpoint === undefined)
    return `It saves no checkpoints, so its ${steps} ${are} lost.`;
  const after = checkpoint === null ? '' : ` after step ${checkpoint.step.toLocaleString('en')}`;
  return `Its ranks get time to save. If they do not save in time, the ${steps}${after} ${are} lost.`;
}
