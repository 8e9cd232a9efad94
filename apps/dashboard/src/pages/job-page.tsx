import type { ReactNode } from 'react';
import { JobDetails } from '../components/job-details.tsx';
import { useLiveJob } from '../job/use-live-job.ts';
import { useSession } from '../session.tsx';

export function JobPage({ project, id }: { readonly project: string; readonly id: string }): ReactNode {
  const { api } = useSession();
  const live = useLiveJob(api, project, id);
  const { job, problem } = live;
  if (job === undefined) {
    return problem === undefined ? (
      <p className="waiting">Reading the job…</p>
    ) : (
      <p className="problem" role="alert">
        {problem}
      </p>
    );
  }
  return <JobDetails project={project} live={{ ...live, job }} />;
}
