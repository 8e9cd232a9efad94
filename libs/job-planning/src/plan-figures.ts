import type { JobPlan } from '@coxswain/api-types';
import { formatLayout } from '@coxswain/layout';
import type { Plan, PlanCluster, Prediction } from '@coxswain/planner';
import { GIB_BYTES, SECOND_MS } from '@coxswain/units';

/** What a status says of a prediction. */
export type Figures = Pick<
  JobPlan,
  | 'predictedStepMs'
  | 'predictedStepLowMs'
  | 'predictedStepHighMs'
  | 'predictedPeakBytes'
  | 'gpuType'
  | 'verdict'
  | 'errorStatement'
>;

/** Of the field in status. */
const MAX_ERROR_STATEMENT = 1024;

/** Figures of a prediction as status stores them: milliseconds, bytes, and how wrong such predictions are. */
export function figuresOf(prediction: Prediction, { gpu }: Pick<PlanCluster, 'gpu'>): Figures {
  return {
    predictedStepMs: toMs(prediction.stepTimeS),
    ...intervalOf(prediction),
    predictedPeakBytes: toBytes(prediction.peakGib),
    gpuType: gpu,
    verdict: prediction.verdict,
    errorStatement: errorStatementOf(prediction).slice(0, MAX_ERROR_STATEMENT),
  };
}

/** A layout that was not chosen, with its predicted step time and peak of memory. */
export function toRunnerUp({ layout, microBatchSize, prediction }: Plan): NonNullable<JobPlan['runnersUp']>[number] {
  return {
    layout: formatLayout(layout),
    microBatchSize,
    predictedStepMs: toMs(prediction.stepTimeS),
    predictedPeakBytes: toBytes(prediction.peakGib),
  };
}

function intervalOf({ interval }: Prediction): Pick<Figures, 'predictedStepLowMs' | 'predictedStepHighMs'> {
  if (interval === undefined) return {};
  return { predictedStepLowMs: toMs(interval.lowS), predictedStepHighMs: toMs(interval.highS) };
}

function errorStatementOf({ error }: Prediction): string {
  const { basis, medianAbsPct, p90AbsPct, n } = error;
  if (n === 0) return 'The expected error is unknown: no published measurement resembles this job.';
  const errors = `${medianAbsPct.toFixed(1)} % (median), ${p90AbsPct.toFixed(1)} % (9 of 10)`;
  return `Expected error: ${errors}. It was measured on ${n} runs that the planner's constants were not fitted to: ${basis}.`;
}

/** Four significant digits: more would claim an exactness that no prediction has. */
function toMs(timeS: number): number {
  return Number((timeS * SECOND_MS).toPrecision(4));
}

function toBytes(gib: number): number {
  return Math.round(gib * GIB_BYTES);
}
