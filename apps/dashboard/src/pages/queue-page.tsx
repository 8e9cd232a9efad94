import type { Queue } from '@coxswain/api-types';
import type { ReactNode } from 'react';
import { ProjectReport } from '../components/project-report.tsx';
import { QueuePastStarts, QueueUses } from '../components/queue-figures.tsx';
import { QueueOrder } from '../components/queue-order.tsx';
import { QueueTimeline } from '../components/queue-timeline.tsx';
import { QueueWindows } from '../components/queue-windows.tsx';
import { queueSentence } from '../queue/queue-words.ts';

/** Jobs that wait for GPUs: whose turn it is, when they are expected to start, and what is expected in the next day. */
export function QueuePage(): ReactNode {
  return (
    <ProjectReport
      title="Queue"
      what="queue"
      read={(api, project) => api.queue(project)}
      whileReading="Reading the queue…"
    >
      {(queue) => <Sections queue={queue} />}
    </ProjectReport>
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
