import { nameOfRun, type Attempt } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import { Fragment, type ReactNode } from 'react';
import { Time } from './time.tsx';

const STAGE_WORDS: Readonly<Record<Attempt['stage'], string>> = {
  Creating: 'Being placed',
  Released: 'Running',
  Stopping: 'Stopping',
  Ended: 'Ended',
};

interface RunRowProps {
  readonly attempt: Attempt;
  /** The attempt itself, for its last incarnation, or an earlier one. */
  readonly run: Pick<Attempt, 'incarnation' | 'reason' | 'message' | 'resumedFrom'>;
  readonly at: string;
  /** How it ended or how far it is. */
  readonly children: ReactNode;
}

/** One incarnation of an attempt, with the message of its end below it. */
function RunRow({ attempt, run, at, children }: RunRowProps): ReactNode {
  return (
    <>
      <tr>
        <td className="number">{nameOfRun(attempt.epoch, run.incarnation)}</td>
        <td>
          {children}
          {run.reason !== undefined && <small>{run.reason}</small>}
        </td>
        <td>{beginning(run.resumedFrom)}</td>
        <td>{formatLayout(attempt.layout)}</td>
        <td>
          <Time at={at} />
        </td>
      </tr>
      {run.message !== undefined && (
        <tr className="message">
          <td />
          <td colSpan={4}>
            <pre tabIndex={0}>{run.message}</pre>
          </td>
        </tr>
      )}
    </>
  );
}

export function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }): ReactNode {
  if (attempts.length === 0) return <p className="empty">Not started yet.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th className="number">Attempt</th>
          <th>Outcome</th>
          <th>Started from</th>
          <th>Layout</th>
          <th>When</th>
        </tr>
      </thead>
      <tbody>
        {[...attempts].reverse().map((attempt) => (
          <Fragment key={attempt.epoch}>
            <RunRow attempt={attempt} run={attempt} at={attempt.startedAt}>
              {attempt.outcome ?? STAGE_WORDS[attempt.stage]}
            </RunRow>
            {[...(attempt.incarnations ?? [])].reverse().map((ended) => (
              <RunRow key={ended.incarnation} attempt={attempt} run={ended} at={ended.endedAt}>
                Failed, restarted in its pods
              </RunRow>
            ))}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

function beginning(resumedFrom: Attempt['resumedFrom']): string {
  return resumedFrom === undefined ? 'from scratch' : `after step ${resumedFrom.step.toLocaleString('en')}`;
}
