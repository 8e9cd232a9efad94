import type { JobSummary } from '@coxswain/api-types';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useSession } from '../session.tsx';
import { ActionDialog } from './action-dialog.tsx';
import { JobActions } from './job-actions.tsx';
import { StatePill } from './state-pill.tsx';

/** In a list: a button that opens the actions on a job. */
export function JobMenu({ job }: { readonly job: JobSummary }): ReactNode {
  const { me } = useSession();
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  // A job whose namespace is in no project is the cluster's alone.
  if (me.role === 'viewer' || job.project === null) return null;
  return (
    <>
      <button type="button" className="menu" aria-label={`Actions on ${job.name}`} onClick={() => setOpen(true)}>
        ⋯
      </button>
      {isOpen && (
        <ActionDialog title={job.name} onClose={() => setOpen(false)}>
          <p>
            <StatePill state={job.state} /> {job.summary}
          </p>
          <JobActions
            job={job}
            project={job.project}
            onChange={() => {
              setOpen(false);
              void client.invalidateQueries({ queryKey: ['jobs'] });
            }}
          />
        </ActionDialog>
      )}
    </>
  );
}
