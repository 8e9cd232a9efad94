import type { Queue, QueueWindow } from '@coxswain/api-types';
import { formatCount } from '@coxswain/units';
import type { ReactNode } from 'react';
import { closedWords, untilWords, windowWords } from '../queue/queue-words.ts';
import { Time } from './time.tsx';

/** Times in which nodes are out of service, or kept for a project. */
export function QueueWindows({ queue: { windows, asOf } }: { readonly queue: Queue }): ReactNode {
  return (
    <table className="jobs">
      <thead>
        <tr>
          <th>Window</th>
          <th className="number">Nodes</th>
          <th>Begins</th>
          <th>From</th>
          <th>Until</th>
        </tr>
      </thead>
      <tbody>
        {windows.map((window) => (
          <WindowRow key={`${window.name ?? ''} ${window.from} ${window.until}`} window={window} asOf={asOf} />
        ))}
      </tbody>
    </table>
  );
}

function WindowRow({ window, asOf }: { readonly window: QueueWindow; readonly asOf: string }): ReactNode {
  return (
    <tr>
      <td className="name">{windowWords(window)}</td>
      <td className="number nowrap">{formatCount(window.nodes, 'node')}</td>
      <td>
        {untilWords(window.from, asOf)} <small>{closedWords(window, asOf)}</small>
      </td>
      <td className="detail nowrap">
        <Time at={window.from} />
      </td>
      <td className="detail nowrap">
        <Time at={window.until} />
      </td>
    </tr>
  );
}
