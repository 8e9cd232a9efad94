import type { TrainingJobSpec } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import type { PlanAnswer, PlanCluster } from '@coxswain/planner';

/** Of the field in status. */
const MAX_REFUSAL = 2048;

/** The planner's own words, where it refuses to search at all. */
export function plannerRefuses(reason: string): string {
  return `The planner refuses the job: ${reason}`.slice(0, MAX_REFUSAL);
}

/** Message of a job that no layout fits, cut to the length of the field. */
export function noLayout({ gpus, gpu }: Pick<PlanCluster, 'gpu' | 'gpus'>, reason: string): string {
  return `No layout on ${gpus} ${gpu} GPUs can train this: ${reason}.`.slice(0, MAX_REFUSAL);
}

/** A job that no layout was found for. */
export interface Unplanned {
  readonly spec: TrainingJobSpec;
  readonly cluster: Pick<PlanCluster, 'gpu' | 'gpus'>;
  readonly answer: PlanAnswer;
  /** Why the engine does not run what fits. */
  readonly beyond?: string;
}

/** What stands between the job and a layout, and what would help, as far as the search knows it. */
export function whyNothingFits({ spec, cluster, answer, beyond }: Unplanned): string {
  const {
    best,
    closest,
    ruledOut: [rule],
  } = answer;
  const reason =
    best !== undefined
      ? `what fits, such as ${formatLayout(best.layout)}, is beyond engine "${spec.engine.name}"${beyond === undefined ? '' : `: ${beyond}`}`
      : closest !== undefined
        ? `the closest, ${formatLayout(closest.plan.layout)}, needs ${closest.exceedsGib.toFixed(1)} GiB more per GPU than there is`
        : (rule?.example ?? 'no combination of degrees divides the model and the batch');
  const relax = closest?.relax[0];
  return noLayout(cluster, relax === undefined ? reason : `${reason}; ${relax}`);
}
