/** Advice to use fewer GPUs or another batch. Only usual layouts are compared, so it takes little time beside the search. */
import { PAIRED_ERROR_PCT } from '../calibration/paired-error.ts';
import { planOf } from '../answer/plan-of-layout.ts';
import type { Plan, PlanAdvice } from '../contract.ts';
import { runOnGpus, type ResolvedRequest } from '../request/resolved-request.ts';
import type { SearchLimits } from '../search/branch-and-bound.ts';
import { fastestUsualLayout } from '../search/usual-layouts.ts';
import { fewerGpusOf, otherBatchesOf } from '../space/other-sizes.ts';
import { counted, rounded } from './figures.ts';
import { largerBatch, withBatch } from './larger-batch.ts';
import { tensorInDomain } from './pinned-tensor.ts';

/** Advice is given only if it saves more than the prediction error. */
const MIN_REPORTED_RATIO = 1 - PAIRED_ERROR_PCT / 100;

/** The advice for a request. If no plan was found (`best` is undefined), every change that makes training possible is advised. */
export function adviceOf(resolved: ResolvedRequest, limits: SearchLimits, best: Plan | undefined): PlanAdvice[] {
  if (resolved.request.objective !== 'time') return [];
  return [
    ...tensorInDomain(resolved, limits, best),
    ...fewerGpus(resolved, limits, best),
    ...otherBatch(resolved, limits, best),
    ...largerBatch(resolved, limits, best),
  ];
}

function fewerGpus(resolved: ResolvedRequest, limits: SearchLimits, best: Plan | undefined): PlanAdvice[] {
  const { request, run } = resolved;
  if (request.cluster.islands !== undefined || pinsDegrees(resolved)) return [];
  const askedS = best?.prediction.stepTimeS;
  let withinS = Math.min(limits.stepTimeS, askedS === undefined ? Infinity : askedS * MIN_REPORTED_RATIO);
  let found: { readonly plan: Plan; readonly gpus: number } | undefined;
  for (const gpus of fewerGpusOf(run)) {
    const layout = fastestUsualLayout(resolved, runOnGpus(resolved, gpus), { ...limits, stepTimeS: withinS });
    if (layout === undefined) continue;
    withinS = layout.stepTimeS;
    found = { plan: planOf(resolved, layout), gpus };
  }
  if (found === undefined) return [];
  const { gpus, plan } = found;
  const of = counted(run.cluster.gpus);
  const sentence =
    askedS === undefined
      ? `${counted(gpus)} of the ${of} GPUs can train the model, at ${rounded(plan.prediction.stepTimeS)} s per step`
      : `${counted(gpus)} GPUs are faster than ${of}: ${rounded(plan.prediction.stepTimeS)} s per step instead of ${rounded(askedS)} s`;
  return [{ kind: 'fewerGpus', sentence, globalBatchSize: run.globalBatchSize, plan }];
}

function otherBatch(resolved: ResolvedRequest, limits: SearchLimits, best: Plan | undefined): PlanAdvice[] {
  const { run } = resolved;
  const askedS = best?.prediction.stepTimeS;
  let perSampleS = askedS === undefined ? Infinity : (askedS / run.globalBatchSize) * MIN_REPORTED_RATIO;
  let found: { readonly plan: Plan; readonly batch: number } | undefined;
  for (const batch of otherBatchesOf(run)) {
    const changed = withBatch(resolved, batch);
    const within = { ...limits, stepTimeS: Math.min(limits.stepTimeS, perSampleS * batch) };
    const layout = fastestUsualLayout(changed, changed.run, within);
    if (layout === undefined) continue;
    perSampleS = layout.stepTimeS / batch;
    found = { plan: planOf(changed, layout), batch };
  }
  if (found === undefined) return [];
  const { batch, plan } = found;
  const stepS = rounded(plan.prediction.stepTimeS);
  const sentence =
    askedS === undefined
      ? `a global batch of ${counted(batch)} can be trained on all GPUs, at ${stepS} s per step`
      : `a global batch of ${counted(batch)} takes ${stepS} s per step instead of ${rounded(askedS)} s with ${counted(run.globalBatchSize)}`;
  return [{ kind: 'otherBatch', sentence, globalBatchSize: batch, plan }];
}

/** Whether pinned degrees fix the number of GPUs. */
function pinsDegrees({ request: { pinned = {} } }: ResolvedRequest): boolean {
  return pinned.data !== undefined || pinned.shardGroup !== undefined;
}
