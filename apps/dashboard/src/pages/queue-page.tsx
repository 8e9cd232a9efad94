import type { Queue } from '@coxswain/api-types';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { QueuePastStarts, QueueUses } from '../components/queue-figures.tsx';
import { QueueOrder } from '../components/queue-order.tsx';
import { QueueTimeline } from '../components/queue-timeline.tsx';
import { QueueWindows } from '../components/queue-windows.tsx';
import { projectsOf } from '../projects-of.ts';
import { queueSentence } from '../queue/queue-words.ts';
import { useSession } from '../session.tsx';

const REFRESH_MS = 10_000;

/** Jobs that wait for GPUs: whose turn it is, when they are expected to start, and what is expected in the next day. */
export function QueuePage(): ReactNode {
  const { api, me } = useSession();
  const projects = projectsOf(me);
  const [project = '-', setProject] = useState(projects[0]);
  const { data, error, isPending } = useQuery({
    queryKey: ['queue', project],
    refetchInterval: REFRESH_MS,
    queryFn: () => api.queue(project),
  });
  return (
    <>
      <title>Queue · Coxswain</title>
      <div className="title">
        <h1>Queue</h1>
        {projects.length > 1 && (
          <label className="actions">
            <span className="hint">Project</span>
            <select value={project} onChange={(event) => setProject(event.target.value)}>
              {projects.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      {error !== null && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      {isPending && <p className="waiting">Reading the queue…</p>}
      {data !== undefined && <Sections queue={data} />}
    </>
  );
}

function Sections({ queue }: { readonly queue: Queue }): ReactNode {
  return (
    <>
      <p className="sentence">{queueSentence(queue)}</p>
      {queue.problem !== null && (
        <p className="problem" role="alert">
          No start is predicted: {queue.problem}
        </p>
      )}
      {queue.items.length > 0 && (
        <section className="panel scroll">
          <h2>Order</h2>
          <QueueOrder queue={queue} />
          {queue.hasMore && (
            <p className="hint">
              {queue.items.length} jobs are shown; <code>coxswain queue --limit 2000</code> lists more.
            </p>
          )}
        </section>
      )}
      <section className="panel scroll">
        <h2>Next 24 hours</h2>
        <QueueTimeline queue={queue} />
      </section>
      {queue.windows.length > 0 && (
        <section className="panel scroll">
          <h2>Windows</h2>
          <QueueWindows queue={queue} />
        </section>
      )}
      <div className="columns">
        <section className="panel scroll">
          <h2>Use of each project</h2>
          <QueueUses use={queue.use} />
        </section>
        <section className="panel scroll">
          <h2>Expected against actual starts</h2>
          <QueuePastStarts starts={queue.starts} />
        </section>
      </div>
    </>
  );
}
