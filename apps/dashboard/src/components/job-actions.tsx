import type { Job, JobSummary } from '@coxswain/api-types';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { actionsOf, type JobAction, warningOf } from '../job/job-actions.ts';
import { useSession } from '../session.tsx';
import { ActionDialog } from './action-dialog.tsx';
import { ResumeDialog } from './resume-dialog.tsx';

interface JobActionsProps {
  readonly job: JobSummary;
  readonly project: string;
  /** After something was done; the job as it is then, undefined if it is being deleted. */
  readonly onChange: (job: Job | undefined) => void;
}

const LABELS: Readonly<Record<JobAction, string>> = {
  resume: 'Resume',
  suspend: 'Suspend',
  cancel: 'Cancel',
  delete: 'Delete',
};
const DANGEROUS: readonly JobAction[] = ['cancel', 'delete'];

/** What may be done with a job, for people who may. Where work is lost, a question says which. */
export function JobActions({ job, project, onChange }: JobActionsProps): ReactNode {
  const { api, me } = useSession();
  const [asked, setAsked] = useState<JobAction>();
  const [isResuming, setResuming] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  if (me.role === 'viewer') return null;
  const at = { project, id: job.id };
  const calls: Readonly<Record<JobAction, () => Promise<Job | undefined>>> = {
    resume: () => api.resume(at),
    suspend: () => api.suspend(at),
    cancel: () => api.cancel(at),
    delete: () => api.deleteJob(at).then(() => undefined),
  };
  const act = (action: JobAction): void => {
    setProblem(undefined);
    setBusy(true);
    calls[action]()
      .then(
        (changed) => {
          setAsked(undefined);
          onChange(changed);
        },
        (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
      )
      .finally(() => setBusy(false));
  };
  const warning = asked === undefined ? undefined : warningOf(asked, job);
  const actions = actionsOf(job);
  return (
    <span className="actions">
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          className={DANGEROUS.includes(action) ? 'danger' : undefined}
          disabled={isBusy}
          onClick={() => {
            setProblem(undefined);
            if (warningOf(action, job) === undefined) act(action);
            else setAsked(action);
          }}
        >
          {LABELS[action]}
        </button>
      ))}
      {actions.includes('resume') && (
        <button type="button" onClick={() => setResuming(true)}>
          Resume on…
        </button>
      )}
      <Link className="action" href={`/jobs/new?${new URLSearchParams({ project, from: job.id }).toString()}`}>
        Submit again
      </Link>
      {problem !== undefined && asked === undefined && (
        <span className="problem" role="alert">
          {problem}
        </span>
      )}
      {asked !== undefined && warning !== undefined && (
        <ActionDialog
          title={`${LABELS[asked]} ${job.name}?`}
          confirm={`${LABELS[asked]} the job`}
          isDangerous
          {...{ isBusy, problem }}
          onConfirm={() => act(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>{warning}</p>
        </ActionDialog>
      )}
      {isResuming && (
        <ResumeDialog job={job} project={project} onResumed={onChange} onClose={() => setResuming(false)} />
      )}
    </span>
  );
}
