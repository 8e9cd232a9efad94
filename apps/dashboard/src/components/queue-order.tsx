import type { Queue, QueueJob } from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';
import type { ReactNode } from 'react';
import { intervalWords, restsOnWords, untilWords } from '../queue/queue-words.ts';
import { QueueJobCell } from './queue-job.tsx';

/** Jobs that wait, in the order of their turn. */
export function QueueOrder({ queue: { items, asOf } }: { readonly queue: Queue }): ReactNode {
  return (
    <table className="jobs queue-order">
      <thead>
        <tr>
          <th className="number">#</th>
          <th>Job</th>
          <th className="number">Priority</th>
          <th className="number">GPUs</th>
          <th className="number">Waited</th>
          <th>Expected start</th>
          <th className="wide">Why it waits</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.position} className={item.job === null ? 'gone' : undefined}>
            <td className="number detail">{item.position}</td>
            <td className="name">
              <QueueJobCell job={item.job} />
            </td>
            <td className="number detail">{item.priority.toLocaleString('en')}</td>
            <td className="number nowrap">
              {item.gpus.toLocaleString('en')} <span className="narrow">GPUs</span>
            </td>
            <td className="number detail nowrap">
              {formatDuration(Math.max(0, Date.parse(asOf) - Date.parse(item.waitingSince)))}
            </td>
            <td className="start">
              <Start item={item} asOf={asOf} />
            </td>
            <td className="wide">{item.constraint.sentence}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Start({ item: { start, position }, asOf }: { readonly item: QueueJob; readonly asOf: string }): ReactNode {
  const place = <span className="narrow">{position}. </span>;
  if (start === null) return <>{place}not known</>;
  const more = [intervalWords(start, asOf), restsOnWords(start)].filter((words) => words !== '').join(', ');
  return (
    <>
      {place}
      <time dateTime={start.at} title={new Date(start.at).toLocaleString()}>
        {untilWords(start.at, asOf)}
      </time>
      {start.nodesHeld && <span className="tag">nodes are held</span>}
      {more !== '' && <small>{more}</small>}
    </>
  );
}
