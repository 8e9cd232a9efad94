import type { CheckpointRecord, Job } from '@coxswain/api-types';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { startedFrom } from '../checkpoints/lineage.ts';
import { useSession } from '../session.tsx';
import { CheckpointTable } from './checkpoint-table.tsx';
import { VerdictLegend } from './verdict-pill.tsx';

/** Also of a job that ended: its saves can still be verified. A new save is read at once, because the job names it. */
const READ_EVERY_MS = 15_000;
const SHOWN_AT_FIRST = 10;

/** What a job saved, the newest first: which saves are good, and which attempts began from them. */
export function CheckpointsPanel({ job, project }: { readonly job: Job; readonly project: string }): ReactNode {
  const { api } = useSession();
  const { data, error } = useQuery({
    queryKey: ['checkpoints of job', project, job.id, job.checkpoint?.name],
    queryFn: () => api.checkpoints({ project, id: job.id }),
    refetchInterval: READ_EVERY_MS,
    placeholderData: (before) => before,
  });
  return (
    <section className="panel scroll" data-testid="checkpoints">
      <h2>Checkpoints</h2>
      {data === undefined ? (
        <p className="empty">{error === null ? 'Reading…' : error.message}</p>
      ) : (
        <Saves job={job} project={project} saves={data.items} />
      )}
    </section>
  );
}

function Saves(props: {
  readonly job: Job;
  readonly project: string;
  readonly saves: readonly CheckpointRecord[];
}): ReactNode {
  const { job, project, saves } = props;
  const [isAll, setAll] = useState(false);
  if (saves.length === 0) return <p className="empty">{describeNoSaves(job)}</p>;
  const newestFirst = saves.toReversed();
  const shown = isAll ? newestFirst : newestFirst.slice(0, SHOWN_AT_FIRST);
  return (
    <>
      <CheckpointTable
        project={project}
        checkpoints={shown}
        newestUsable={job.checkpoint?.name}
        startedFrom={startedFrom(job.attempts)}
      />
      {shown.length < newestFirst.length && (
        <p className="more">
          <button type="button" onClick={() => setAll(true)}>
            Show {newestFirst.length - shown.length} older ones
          </button>
        </p>
      )}
      <VerdictLegend />
    </>
  );
}

function describeNoSaves({ spec }: Job): string {
  return spec.checkpoint === undefined ? 'This job saves no checkpoints.' : 'No checkpoints yet.';
}
