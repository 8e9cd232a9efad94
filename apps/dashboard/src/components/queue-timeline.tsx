import type { Queue, QueueEvent, QueueWindow } from '@coxswain/api-types';
import { formatCount } from '@coxswain/units';
import { type ReactNode, useState } from 'react';
import { dayBar, dayHours } from '../queue/day-bar.ts';
import { closedWords, intervalWords, restsOnWords, untilWords, windowWords } from '../queue/queue-words.ts';
import { QueueJobCell } from './queue-job.tsx';

const FEW_EVENTS = 12;

/** What is expected in the next day: jobs that end, jobs that start, and windows in which nodes are closed. */
export function QueueTimeline({ queue }: { readonly queue: Queue }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const { hasMoreEvents } = queue;
  const rows = rowsOf(queue);
  if (rows.length === 0) return <p className="empty">No job is expected to end or to start in the next 24 hours.</p>;
  return (
    <>
      <table className="jobs queue-timeline">
        <thead>
          <tr>
            <th>When</th>
            <th>What</th>
            <th>Job or window</th>
            <th className="day">
              <Hours queue={queue} />
            </th>
          </tr>
        </thead>
        <tbody>
          {(isWhole ? rows : rows.slice(0, FEW_EVENTS)).map(({ at, event, window }, index) =>
            event === undefined ? (
              <WindowRow key={`${index} ${at}`} window={window} queue={queue} />
            ) : (
              <EventRow key={`${index} ${at}`} event={event} queue={queue} />
            ),
          )}
        </tbody>
      </table>
      {rows.length > FEW_EVENTS && (
        <p className="more">
          <button type="button" onClick={() => setWhole(!isWhole)}>
            {isWhole ? 'Show fewer events' : `Show all ${rows.length} events`}
          </button>
          {isWhole && hasMoreEvents && <span className="hint"> Later events are left out.</span>}
        </p>
      )}
    </>
  );
}

type Row = { readonly at: string } & (
  | { readonly event: QueueEvent; readonly window?: undefined }
  | { readonly event?: undefined; readonly window: QueueWindow }
);

/** Events, and windows of the next day, the first to come first. */
function rowsOf({ asOf, timeline, timelineUntil, windows }: Queue): readonly Row[] {
  const events = timeline.map((event): Row => ({ at: event.at, event }));
  const inDay = windows.filter(({ from, until }) => from < timelineUntil && until > asOf);
  const ofWindows = inDay.map((window): Row => ({ at: window.from < asOf ? asOf : window.from, window }));
  return [...ofWindows, ...events].toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

function WindowRow({ window, queue }: { readonly window: QueueWindow; readonly queue: Queue }): ReactNode {
  const { from, until, nodes } = window;
  const day = { from: queue.asOf, until: queue.timelineUntil };
  const { left, width, isOpen } = dayBar({ at: from, earliest: from, latest: until }, day);
  const words = closedWords(window, queue.asOf);
  return (
    <tr>
      <td className="nowrap">
        <time dateTime={from} title={new Date(from).toLocaleString()}>
          {untilWords(from, queue.asOf)}
        </time>
      </td>
      <td className="nowrap">
        <span className="held">closes {formatCount(nodes, 'node')}</span>
      </td>
      <td className="name">{windowWords(window)}</td>
      <td className="day" title={words}>
        <div className="day-bar">
          <span className={`closed${isOpen ? ' open' : ''}`} style={{ left: `${left}%`, width: `${width}%` }} />
        </div>
        <small>{words}</small>
      </td>
    </tr>
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
