/** Can the job run as specified, and on which layout? */
import type { EffectiveSpec, JobPlan, ReasonOf } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import { formatBytes, formatDuration } from '@coxswain/units';
import type { Acceptance } from '../epoch/acceptance.ts';

interface AcceptedDraft {
  readonly holds: boolean;
  readonly reason: ReasonOf<'Accepted'>;
  readonly message: string;
}

/** Condition Accepted for that result of checking the spec. */
export function acceptedDraft(acceptance: Acceptance, plan: JobPlan | undefined): AcceptedDraft {
  switch (acceptance.kind) {
    case 'refused':
      return { holds: false, reason: acceptance.reason, message: acceptance.message };
    case 'unplanned':
      return { holds: true, reason: 'SpecValid', message: 'The spec is valid; its layout is not chosen yet.' };
    case 'accepted':
      return { holds: true, reason: 'SpecValid', message: `${acceptedLayout(acceptance.spec, plan)}.` };
  }
}

/** `The layout tp2 x dp2 fits the model, predicted at 120 ms per step and 1.5 GiB per GPU` */
function acceptedLayout(spec: EffectiveSpec, plan: JobPlan | undefined): string {
  const layout = formatLayout(spec.layout);
  const fewer = plan?.forEpoch === undefined ? '' : ` for ${plan.gpus} GPUs, because more are not available`;
  const fits =
    plan?.chosenBy === 'Planner' ? `The planner chose ${layout}${fewer}` : `The layout ${layout} fits the model`;
  if (plan?.predictedStepMs === undefined || plan.predictedPeakBytes === undefined) return fits;
  const prediction = `${formatDuration(plan.predictedStepMs)} per step and ${formatBytes(plan.predictedPeakBytes)} per GPU`;
  const doubt = plan.verdict === 'doesNotFit' ? ', which is more than the GPU has' : '';
  return `${fits}, predicted at ${prediction}${doubt}`;
}
