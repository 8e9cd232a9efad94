import type { JobSummary } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import { formatDuration } from '@coxswain/units';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo, useState, type ReactNode } from 'react';
import { Link, useSearchParams } from 'wouter';
import { JobMenu } from '../components/job-menu.tsx';
import { ProgressBar } from '../components/progress-bar.tsx';
import { StatePill } from '../components/state-pill.tsx';
import { JobFilter } from '../jobs/job-filter.tsx';
import { addressOf, listingOf } from '../jobs/job-listing.ts';
import { readJobs } from '../jobs/read-jobs.ts';
import { useSession } from '../session.tsx';

const REFRESH_MS = 3_000;
const FEW_JOBS = 50;
/** The most that the API gives at once. */
const MANY_JOBS = 500;

/** The jobs of every project that the token may see. */
export function JobsPage(): ReactNode {
  const session = useSession();
  const [address, setAddress] = useSearchParams();
  const listing = useMemo(() => listingOf(address), [address]);
  const [pageSize, setPageSize] = useState(FEW_JOBS);
  const { data, error, isPending } = useQuery({
    queryKey: ['jobs', session.me.project, listing, pageSize],
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
    queryFn: () => readJobs(session, listing, pageSize),
  });
  return (
    <>
      <title>Jobs · Coxswain</title>
      <div className="title">
        <h1>Jobs</h1>
        {session.me.role !== 'viewer' && (
          <Link href="/jobs/new" className="button">
            New job
          </Link>
        )}
        <JobFilter
          listing={listing}
          onChange={(next) => {
            const query = addressOf(next);
            if (query.toString() !== addressOf(listing).toString()) setAddress(query, { replace: true });
          }}
        />
      </div>
      {error !== null && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      {isPending && <p className="waiting">Reading jobs…</p>}
      {data?.jobs.length === 0 && (
        <NoJobs isFiltered={listing.search + listing.labels + listing.owner + listing.state !== ''} />
      )}
      {data !== undefined && data.jobs.length > 0 && <JobTable jobs={data.jobs} />}
      {data?.isCut === true && (
        <p className="more">
          {pageSize < MANY_JOBS ? (
            <button type="button" onClick={() => setPageSize(MANY_JOBS)}>
              Show more jobs
            </button>
          ) : (
            <span className="hint">
              The first {data.jobs.length} jobs are shown; <code>coxswain list</code> prints them all.
            </span>
          )}
        </p>
      )}
    </>
  );
}

function NoJobs({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  if (isFiltered) return <p className="empty">No job matches the filters.</p>;
  return (
    <p className="empty">
      No jobs yet. <code>coxswain submit -f examples/jobs/tiny-gpt.yaml</code> makes the first, or write one here with{' '}
      <Link href="/jobs/new">New job</Link>.
    </p>
  );
}

function JobTable({ jobs }: { readonly jobs: readonly JobSummary[] }): ReactNode {
  return (
    <div className="panel scroll">
      <table className="jobs">
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
            <th>
              <span className="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <JobRow key={job.id} job={job} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function JobRow({ job }: { readonly job: JobSummary }): ReactNode {
  return (
    <tr>
      <td className="name">
        <Link href={`/projects/${job.project ?? '-'}/jobs/${job.id}`}>{job.name}</Link>
        <small>{[job.project ?? job.namespace, ...labelsOf(job)].join(' · ')}</small>
      </td>
      <td className="state">
        <StatePill state={job.state} />
      </td>
      <td className="wide" title={job.summary}>
        <span className="clamped">{job.summary}</span>
      </td>
      <td className="progress-cell">
        <Progress job={job} />
      </td>
      <td className="number detail">{job.progress?.loss?.toFixed(4) ?? '–'}</td>
      <td className="number detail">{job.gpus.toLocaleString('en')}</td>
      <td className="detail nowrap">{job.layout === null ? 'to be planned' : formatLayout(job.layout)}</td>
      <td className="number detail nowrap">{formatDuration(Date.now() - Date.parse(job.createdAt))}</td>
      <td className="menu-cell">
        <JobMenu job={job} />
      </td>
    </tr>
  );
}

/** At most as many as fit beneath a name. */
function labelsOf({ labels }: JobSummary): readonly string[] {
  return Object.entries(labels)
    .slice(0, 3)
    .map(([key, value]) => `${key}=${value}`);
}

function Progress({ job: { name, progress, totalSteps: total } }: { readonly job: JobSummary }): ReactNode {
  if (progress === null) return '–';
  const step = progress.step.toLocaleString('en');
  if (total === null) return step;
  return (
    <>
      {step} of {total.toLocaleString('en')}
      <ProgressBar value={progress.step} total={total} label={`progress of ${name}`} />
    </>
  );
}
