import type { PastStarts, QueueUse } from '@coxswain/api-types';
import type { ReactNode } from 'react';
import { errorWords, pastStartsSentence, useWords } from '../queue/queue-words.ts';
import { ProgressBar } from './progress-bar.tsx';
import { QueueJobCell } from './queue-job.tsx';
import { Time } from './time.tsx';

/** GPUs that each project holds and waits for, against its quota. */
export function QueueUses({ use }: { readonly use: readonly QueueUse[] }): ReactNode {
  if (use.length === 0) return <p className="empty">No project holds GPUs or waits for them.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th>Project</th>
          <th>GPUs held</th>
          <th className="number">GPUs waited for</th>
          <th className="number">Jobs that wait</th>
        </tr>
      </thead>
      <tbody>
        {use.map((one) => (
          <tr key={one.project}>
            <td>{one.project}</td>
            <td className="progress-cell">
              {useWords(one)} {one.quotaGpus === null && <span className="hint">no quota</span>}
              {one.quotaGpus !== null && one.quotaGpus > 0 && (
                <ProgressBar value={one.heldGpus} total={one.quotaGpus} label={`quota of ${one.project} in use`} />
              )}
            </td>
            <td className="number">{one.waitingGpus.toLocaleString('en')}</td>
            <td className="number">{one.waitingJobs.toLocaleString('en')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const FEW_STARTS = 10;

/** Expected starts against those that came. */
export function QueuePastStarts({ starts }: { readonly starts: PastStarts }): ReactNode {
  return (
    <>
      <p className={starts.count === 0 ? 'empty' : undefined}>{pastStartsSentence(starts)}</p>
      {starts.items.length > 0 && (
        <table className="jobs">
          <thead>
            <tr>
              <th>Job</th>
              <th>Expected</th>
              <th>Started</th>
              <th className="number">Difference</th>
            </tr>
          </thead>
          <tbody>
            {starts.items.slice(0, FEW_STARTS).map((one) => (
              <tr key={`${one.job.id} ${one.actual}`}>
                <td className="name">
                  <QueueJobCell job={one.job} />
                </td>
                <td className="detail">
                  <Time at={one.expected} />
                </td>
                <td className="detail">
                  <Time at={one.actual} />
                </td>
                <td className="number">{errorWords(one.errorSeconds)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
