import { meaningOf } from '@coxswain/api-client';
import type { JobPlan, JobPlanPreview } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import { formatBytes } from '@coxswain/units';
import type { ReactNode } from 'react';
import { formatMs } from '../step-time.ts';

const VERDICT_WORDS: Readonly<Record<NonNullable<JobPlan['verdict']>, string>> = {
  fits: 'fits',
  tight: 'is tight',
  doesNotFit: 'does not fit',
};

/** The 80 % interval of the step time; empty for a plan from before there were intervals. */
function intervalOf({ predictedStepLowMs, predictedStepHighMs }: JobPlanPreview): string {
  if (predictedStepLowMs === undefined || predictedStepHighMs === undefined) return '';
  return ` (80 % interval: ${formatMs(predictedStepLowMs)} to ${formatMs(predictedStepHighMs)})`;
}

/** The plan of the job; empty if the planner had no answer. */
export function PlanPanel({ plan }: { readonly plan: JobPlanPreview }): ReactNode {
  if (plan.layout === undefined || plan.predictedStepMs === undefined) return null;
  const memory =
    plan.predictedPeakBytes === undefined || plan.verdict === undefined
      ? ''
      : `, ${formatBytes(plan.predictedPeakBytes)} per GPU, which ${meaningOf(VERDICT_WORDS, plan.verdict)}`;
  const layout = `${formatLayout(plan.layout)}, micro-batch ${plan.microBatchSize ?? 1}`;
  return (
    <section className="panel" data-testid="plan">
      <h2>{plan.chosenBy === 'Planner' ? 'Chosen by the planner' : 'Predicted by the planner'}</h2>
      <p>
        {layout}: {formatMs(plan.predictedStepMs)} per step{intervalOf(plan)}
        {memory}.{plan.errorStatement !== undefined && <small> {plan.errorStatement}</small>}
      </p>
      {plan.whyStages !== undefined && <p className="hint">{plan.whyStages}</p>}
      {plan.runnersUp !== undefined && (
        <p className="hint">
          Next best:{' '}
          {plan.runnersUp
            .map((one) => `${one.layout}, micro-batch ${one.microBatchSize} (${formatMs(one.predictedStepMs)})`)
            .join('; ')}
        </p>
      )}
      <p className="hint">Planned for {plan.fabric}.</p>
    </section>
  );
}
