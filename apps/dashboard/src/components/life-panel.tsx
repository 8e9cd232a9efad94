import type { Job } from '@coxswain/api-types';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useSession } from '../session.tsx';
import { Incidents } from './incidents.tsx';
import { CostSoFar } from './cost-so-far.tsx';
import { LifeBar } from './life-bar.tsx';
import { Recoveries } from './recoveries.tsx';

const READ_EVERY_MS = 5_000;
/** Newest; `coxswain incidents` has the rest. */
const SHOWN_INCIDENTS = 50;

/** Where the job's time went and what went wrong; read again and again while it runs. */
export function LifePanel({
  job,
  project,
  isFinished,
}: {
  readonly job: Job;
  readonly project: string;
  readonly isFinished: boolean;
}): ReactNode {
  const { api } = useSession();
  const at = { project, id: job.id };
  const { data, error } = useQuery({
    // Not by state: a job that is Running again would be shown as it was when it ran before.
    queryKey: ['life', project, job.id, isFinished],
    queryFn: async () => {
      const [goodput, incidents] = await Promise.all([
        api.goodput(at),
        api.incidents(at, { pageSize: SHOWN_INCIDENTS }),
      ]);
      return { goodput, incidents: incidents.items };
    },
    refetchInterval: isFinished ? false : READ_EVERY_MS,
    placeholderData: (before) => before,
  });
  return (
    <>
      <section className="panel" data-testid="life">
        <h2>Goodput</h2>
        {data === undefined ? (
          <p className="empty">{error === null ? 'Reading…' : error.message}</p>
        ) : (
          <>
            <LifeBar {...data} />
            <CostSoFar cost={data.goodput.cost ?? null} />
            <Recoveries goodput={data.goodput} />
          </>
        )}
      </section>
      <section className="panel">
        <h2>Incidents</h2>
        {data === undefined ? (
          <p className="empty">{error === null ? 'Reading…' : error.message}</p>
        ) : (
          <Incidents incidents={data.incidents} />
        )}
      </section>
    </>
  );
}
