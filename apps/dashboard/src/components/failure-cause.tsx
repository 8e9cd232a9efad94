import { formatAnswer, formatExit, formatFailureLine, formatPlaceOfFailure, type Job } from '@coxswain/api-types';
import type { ReactNode } from 'react';
import { FactList } from './fact-list.tsx';

/** Why the job failed, first on its page; of a job that restarts, one line. Nothing if the job goes on since its last failure. */
export function FailureCause({ job, now }: { readonly job: Job; readonly now: Date }): ReactNode {
  const { lastFailure: failure, state } = job;
  if (failure === null) return null;
  if (!failure.isFinal) {
    return state === 'Restarting' ? <p className="sentence">{formatFailureLine(failure, now)}</p> : null;
  }
  const facts = (
    [
      ['Where', formatPlaceOfFailure(failure)],
      ['Exit', formatExit(failure)],
      ['Blame', failure.blame === null ? undefined : `${failure.blame} (${failure.class ?? 'Unknown'})`],
      ['Result', formatAnswer(failure, now)],
      ['Next', failure.advice],
    ] as const
  ).filter(([, value]) => value !== undefined);
  return (
    <section className="panel cause" data-testid="cause">
      <h2>{`Attempt ${failure.attempt} failed`}</h2>
      <p className="problem">{failure.verdict}</p>
      {failure.lastLines.length > 0 && <pre tabIndex={0}>{failure.lastLines.join('\n')}</pre>}
      <FactList className="evidence" facts={facts} />
    </section>
  );
}
