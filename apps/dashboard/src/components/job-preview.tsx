import type { JobCheck } from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';
import type { ReactNode } from 'react';
import { plannedDuration } from '../new-job/planned-duration.ts';
import { PlanPanel } from './plan-panel.tsx';

interface JobPreviewProps {
  readonly request: unknown;
  readonly check: JobCheck | undefined;
  /** Whether the answer is to an earlier text. */
  readonly isStale: boolean;
  /** Whether the API is asked now. */
  readonly isAsking: boolean;
  /** Why it is not asked, or did not answer. */
  readonly problem: string | undefined;
}

/** What planner and cluster answer to the job before it is submitted. */
export function JobPreview({ request, check, isStale, isAsking, problem }: JobPreviewProps): ReactNode {
  // An answer to an earlier text says nothing about one with problems.
  const isShown = problem === undefined;
  return (
    <section className="panel preview" aria-busy={isShown && (isAsking || isStale)} aria-label="Preview">
      <h2>
        Preview{' '}
        <small role="status" className="hint">
          {!isShown ? '' : isAsking ? 'Asking planner and cluster…' : isStale ? 'Of an earlier version' : ''}
        </small>
      </h2>
      {isAsking && <progress className="progress" aria-label="Asking planner and cluster" />}
      {problem !== undefined && <p className="empty">{problem}</p>}
      {isShown && check !== undefined && <Answer request={request} check={check} />}
    </section>
  );
}

function Answer({ request, check }: { readonly request: unknown; readonly check: JobCheck }): ReactNode {
  const { plan, gpus, gpusWanted, notChecked } = check;
  const durationMs = plan?.predictedStepMs === undefined ? undefined : plannedDuration(request, plan.predictedStepMs);
  return (
    <>
      <dl className="facts preview-facts">
        <div>
          <dt>GPUs</dt>
          <dd>
            {gpusWanted.toLocaleString('en')}
            <small>
              {gpus === null
                ? 'free GPUs are not known'
                : `${gpus.free.toLocaleString('en')} of ${gpus.total.toLocaleString('en')} are free`}
            </small>
          </dd>
        </div>
        <div>
          <dt>Time to train</dt>
          <dd>{durationMs === undefined ? '–' : `about ${formatDuration(durationMs)}`}</dd>
        </div>
      </dl>
      {plan !== null && plan !== undefined && <PlanPanel plan={plan} />}
      {check.verdict === null && <p className="good-ink">Nothing known is in the way of this job.</p>}
      <details>
        <summary>What was not checked</summary>
        <ul className="notes">
          {notChecked.map(({ what, why }) => (
            <li key={what}>
              {what}: {why}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}
