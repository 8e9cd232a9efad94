import { fillJobLink, type Job } from '@coxswain/api-types';
import type { ReactNode } from 'react';
import { useSession } from '../session.tsx';

/** Links to other systems that know the job, as an administrator named them. */
export function JobLinks({ job, project }: { readonly job: Job; readonly project: string }): ReactNode {
  const { jobLinks = [] } = useSession().me;
  const { namespace, name, uid, epoch } = job;
  // Systems name the runs of a job by its UID, which it gets in the cluster.
  if (jobLinks.length === 0 || uid === null) return null;
  return (
    <nav className="job-links" aria-label="Other systems">
      {jobLinks.map((link) => (
        <a
          key={link.title}
          href={fillJobLink(link, { project, namespace, job: name, uid, attempt: String(epoch) })}
          target="_blank"
          rel="noreferrer"
        >
          {link.title} ↗
        </a>
      ))}
    </nav>
  );
}
