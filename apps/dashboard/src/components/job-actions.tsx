import type { Job } from '@coxswain/api-types';
import { useState, type ReactNode } from 'react';
import { useSession } from '../session.tsx';

interface JobActionsProps {
  readonly job: Job;
  readonly project: string;
  readonly isFinished: boolean;
  readonly onChange: (job: Job) => void;
}

/** What may be done with a job, for who may; nothing once it is finished. */
export function JobActions({ job, project, isFinished, onChange }: JobActionsProps): ReactNode {
  const { api, me } = useSession();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  if (me.role === 'viewer' || isFinished) return null;
  const at = { project, id: job.id };
  const act = (action: () => Promise<Job>) => () => {
    setProblem(undefined);
    setIsBusy(true);
    action()
      .then(onChange, (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)))
      .finally(() => setIsBusy(false));
  };
  return (
    <span className="actions">
      {job.spec.suspend ? (
        <button type="button" disabled={isBusy} onClick={act(() => api.resume(at))}>
          Resume
        </button>
      ) : (
        <button type="button" disabled={isBusy} onClick={act(() => api.suspend(at))}>
          Suspend
        </button>
      )}
      <button
        type="button"
        className="danger"
        disabled={isBusy}
        onClick={() => {
          if (confirm(`Stop ${job.name} for good? Its checkpoints stay.`)) act(() => api.cancel(at))();
        }}
      >
        Cancel
      </button>
      {problem !== undefined && (
        <span className="problem" role="alert">
          {problem}
        </span>
      )}
    </span>
  );
}
