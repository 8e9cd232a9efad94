import type { Job } from '@coxswain/api-types';
import { formatLayout, worldSize } from '@coxswain/layout';
import { formatDuration } from '@coxswain/units';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { ProgressBar } from '../components/progress-bar.tsx';
import { StatePill } from '../components/state-pill.tsx';
import { useSession } from '../session.tsx';

const REFRESH_MS = 3_000;

/** The jobs of every project that the token may see, newest first. */
export function JobsPage(): ReactNode {
  const { api, me } = useSession();
  const { data, error, isPending } = useQuery({
    queryKey: ['jobs', me.project],
    refetchInterval: REFRESH_MS,
    queryFn: async () => {
      const projects = me.project === null ? (await api.projects()).items.map((project) => project.name) : [me.project];
      const pages = await Promise.all(projects.map((project) => api.jobPage(project, { pageSize: 100 })));
      return pages.flatMap((page) => page.items).sort((a, b) => b.createdAt.localeCompare(a.createdAt));
    },
  });
  if (isPending) return <p className="waiting">Reading jobs…</p>;
  return (
    <>
      <h1>Jobs</h1>
      {error !== null && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      {data?.length === 0 && (
        <p className="empty">
          No jobs yet. <code>coxswain submit -f examples/jobs/tiny-gpt.yaml</code> makes the first.
        </p>
      )}
      {data !== undefined && data.length > 0 && (
        <div className="panel scroll">
          <table>
            <thead>
              <tr>
                <th>Job</th>
                <th>State</th>
                <th className="wide">What it does</th>
                <th>Progress</th>
                <th className="number">Loss</th>
                <th className="number">GPUs</th>
                <th>Layout</th>
                <th className="number">Age</th>
              </tr>
            </thead>
            <tbody>
              {data.map((job) => (
                <JobRow key={job.id} job={job} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function JobRow({ job }: { readonly job: Job }): ReactNode {
  const total = job.progress?.totalSteps ?? job.spec.training?.steps;
  return (
    <tr>
      <td>
        <Link href={`/projects/${job.project ?? '-'}/jobs/${job.id}`}>{job.name}</Link>
        <small>{job.project ?? job.namespace}</small>
      </td>
      <td>
        <StatePill state={job.state} />
      </td>
      <td className="wide">{job.summary}</td>
      <td>
        {job.progress === null ? (
          '–'
        ) : (
          <>
            {job.progress.step.toLocaleString()}
            {total !== undefined && ` of ${total.toLocaleString()}`}
            {total !== undefined && (
              <ProgressBar value={job.progress.step} total={total} label={`progress of ${job.name}`} />
            )}
          </>
        )}
      </td>
      <td className="number">{job.progress?.loss?.toFixed(4) ?? '–'}</td>
      <td className="number">{worldSize(job.spec.layout)}</td>
      <td>{formatLayout(job.spec.layout)}</td>
      <td className="number">{formatDuration(Date.now() - Date.parse(job.createdAt))}</td>
    </tr>
  );
}
