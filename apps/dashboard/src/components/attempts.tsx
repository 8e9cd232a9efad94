import { meaningOf } from '@coxswain/api-client';
import { type Attempt, describeRestore, nameOfRun, startStepOf } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import { Fragment, type ReactNode } from 'react';
import { Time } from './time.tsx';

const STAGE_WORDS: Readonly<Record<Attempt['stage'], string>> = {
  Creating: 'Being placed',
  Released: 'Running',
  Stopping: 'Stopping',
  Ended: 'Ended',
};

/** Its ranks run only once each of them has been started. */
function stageWords({ stage, runningAt }: Attempt): string {
  return stage === 'Released' && runningAt === undefined ? 'Starting' : meaningOf(STAGE_WORDS, stage);
}

interface RunRowProps {
  readonly attempt: Attempt;
  /** The attempt itself, for its last incarnation, or an earlier one. */
  readonly run: Pick<Attempt, 'incarnation' | 'reason' | 'message' | 'resumedFrom' | 'memorySave' | 'restore'>;
  /** How it ended or how far it is. */
  readonly children: ReactNode;
}

/** One incarnation of an attempt, with the message of its end below it. */
function RunRow({ attempt, run, children }: RunRowProps): ReactNode {
  const startedAt = startOf(attempt, run.incarnation ?? 1);
  return (
    <>
      <tr>
        <td className="number">{nameOfRun(attempt.epoch, run.incarnation)}</td>
        <td>
          {children}
          {run.reason !== undefined && <small>{run.reason}</small>}
        </td>
        <td>
          {beginning(run)}
          {run.restore !== undefined && <small>{describeRestore(run.restore)}</small>}
        </td>
        <td>{formatLayout(attempt.layout)}</td>
        <td>{startedAt === undefined ? '–' : <Time at={startedAt} />}</td>
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
          <th>Started</th>
        </tr>
      </thead>
      <tbody>
        {[...attempts].reverse().map((attempt) => (
          <Fragment key={attempt.epoch}>
            <RunRow attempt={attempt} run={attempt}>
              {attempt.outcome ?? stageWords(attempt)}
            </RunRow>
            {[...(attempt.incarnations ?? [])].reverse().map((ended) => (
              <RunRow key={ended.incarnation} attempt={attempt} run={ended}>
                Failed, restarted in its pods
              </RunRow>
            ))}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

/** When that incarnation started: when the end of the one before was recorded. Undefined if that one is not kept. */
function startOf({ startedAt, incarnations = [] }: Attempt, incarnation: number): string | undefined {
  if (incarnation === 1) return startedAt;
  return incarnations.find((ended) => ended.incarnation === incarnation - 1)?.endedAt;
}

function beginning(run: Pick<Attempt, 'resumedFrom' | 'memorySave'>): string {
  const where = run.memorySave === undefined ? '' : ', from memory';
  return run.resumedFrom === undefined ? 'from scratch' : `after step ${startStepOf(run).toLocaleString('en')}${where}`;
}
