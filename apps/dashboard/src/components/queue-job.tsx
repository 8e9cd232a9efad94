import type { QueueJobName } from '@coxswain/api-types';
import type { ReactNode } from 'react';
import { Link } from 'wouter';

/** A job of the queue by its name, or that it is of another project. */
export function QueueJobCell({ job }: { readonly job: QueueJobName | null }): ReactNode {
  if (job === null) return <span className="hint">job of another project</span>;
  return (
    <>
      <Link href={`/projects/${job.project ?? '-'}/jobs/${job.id}`}>{job.name}</Link>
      <small>{job.project ?? job.namespace}</small>
    </>
  );
}
