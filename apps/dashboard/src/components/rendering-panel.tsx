import type { Job } from '@coxswain/api-types';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useSession } from '../session.tsx';
import { Rendering } from './rendering.tsx';

/** Read again when another attempt begins, a plan comes, or something else is asked of the job. */
export function RenderingPanel({ job, project }: { readonly job: Job; readonly project: string }): ReactNode {
  const { api } = useSession();
  const { id, epoch, state, specVersion, layout } = job;
  const { data, error } = useQuery({
    queryKey: ['rendering', project, id, epoch, state, specVersion, layout],
    queryFn: () => api.rendering({ project, id }),
  });
  return (
    <section className="panel" data-testid="rendering">
      <h2>What is run</h2>
      {data === undefined ? (
        <p className="empty">{error === null ? 'Reading what is run…' : error.message}</p>
      ) : (
        <Rendering rendering={data} />
      )}
    </section>
  );
}
