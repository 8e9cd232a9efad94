import type { Queue, QueueEvent } from '@coxswain/api-types';
import { formatCount } from '@coxswain/units';
import { type ReactNode, useState } from 'react';
import { dayBar, dayHours } from '../queue/day-bar.ts';
import { intervalWords, restsOnWords, untilWords } from '../queue/queue-words.ts';
import { QueueJobCell } from './queue-job.tsx';

const FEW_EVENTS = 12;

/** What is expected in the next day: jobs that end and jobs that start. */
export function QueueTimeline({ queue }: { readonly queue: Queue }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const { timeline, hasMoreEvents } = queue;
  if (timeline.length === 0)
    return <p className="empty">No job is expected to end or to start in the next 24 hours.</p>;
  return (
    <>
      <table className="jobs queue-timeline">
        <thead>
          <tr>
            <th>When</th>
            <th>What</th>
            <th>Job</th>
            <th className="day">
              <Hours queue={queue} />
            </th>
          </tr>
        </thead>
        <tbody>
          {(isWhole ? timeline : timeline.slice(0, FEW_EVENTS)).map((event, index) => (
            <EventRow key={`${index} ${event.at}`} event={event} queue={queue} />
          ))}
        </tbody>
      </table>
      {timeline.length > FEW_EVENTS && (
        <p className="more">
          <button type="button" onClick={() => setWhole(!isWhole)}>
            {isWhole ? 'Show fewer events' : `Show all ${timeline.length} events`}
          </button>
          {isWhole && hasMoreEvents && <span className="hint"> Later events are left out.</span>}
        </p>
      )}
    </>
  );
}

function EventRow({ event, queue }: { readonly event: QueueEvent; readonly queue: Queue }): ReactNode {
  const { left, width, mark, isOpen } = dayBar(event, { from: queue.asOf, until: queue.timelineUntil });
  const isEnd = event.kind === 'End';
  const interval = [intervalWords(event, queue.asOf), restsOnWords(event)].filter((words) => words !== '').join(', ');
  return (
    <tr className={event.job === null ? 'gone' : undefined}>
      <td className="nowrap">
        <time dateTime={event.at} title={new Date(event.at).toLocaleString()}>
          {untilWords(event.at, queue.asOf)}
        </time>
      </td>
      <td className="nowrap">
        <span className={isEnd ? 'idle' : event.nodesHeld ? 'held' : 'good'}>
          {isEnd ? 'frees' : event.nodesHeld ? 'starts on held nodes, ' : 'starts on'} {formatCount(event.gpus, 'GPU')}
        </span>
      </td>
      <td className="name">
        <QueueJobCell job={event.job} />
      </td>
      <td className="day" title={interval}>
        <div className="day-bar">
          <span
            className={`${isEnd ? 'ends' : event.nodesHeld ? 'held' : 'starts'}${isOpen ? ' open' : ''}`}
            style={{ left: `${left}%`, width: `${width}%` }}
          />
          <i style={{ left: `${mark}%` }} />
        </div>
        <small>{interval}</small>
      </td>
    </tr>
  );
}

function Hours({ queue: { asOf, timelineUntil } }: { readonly queue: Queue }): ReactNode {
  return (
    <>
      <span className="hours" aria-hidden="true">
        {dayHours({ from: asOf, until: timelineUntil }).map(({ left, at }) => (
          <span key={at} style={{ left: `${left}%` }}>
            {new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })}
          </span>
        ))}
      </span>
      <span className="unseen">Interval</span>
    </>
  );
}
