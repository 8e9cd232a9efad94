/**
 * Advice to use a batch several times as large if a step then takes little longer. That is so if most of the step does not depend on the batch: filling the
 * pipeline, exchanging gradients, or an optimizer on the host. See ADR 0119.
 */
import { planOf } from '../answer/plan-of-layout.ts';
import type { Plan, PlanAdvice } from '../contract.ts';
import { runOnGpus, type ResolvedRequest, type RunBase } from '../request/resolved-request.ts';
import type { SearchLimits } from '../search/branch-and-bound.ts';
import { fastestUsualLayout } from '../search/usual-layouts.ts';
import { counted, rounded } from './figures.ts';
import { brokenRulesOf, runOfLayout } from './predict.ts';

/** Larger changes of the batch are never advised, because they change the training too much. */
const MOST_DOUBLINGS = 3;
/** Least gain in samples per second for each doubling. It is reached if at least two thirds of the step do not depend on the batch. */
const WORTH_A_DOUBLING = 1.5;

/** Advice for the largest batch for which each doubling gains at least {@link WORTH_A_DOUBLING}; empty if the first does not. */
export function largerBatch(resolved: ResolvedRequest, limits: SearchLimits, best: Plan | undefined): PlanAdvice[] {
  if (best === undefined) return [];
  const asked = resolved.run.globalBatchSize;
  let plan = best;
  let batch = asked;
  for (let doubling = 1; doubling <= MOST_DOUBLINGS; doubling++) {
    const withinS = (plan.prediction.stepTimeS * 2) / WORTH_A_DOUBLING;
    const doubled = planWithin(withBatch(resolved, 2 * batch), { ...limits, stepTimeS: withinS }, best);
    if (doubled === undefined) break;
    plan = doubled;
    batch *= 2;
  }
  if (batch === asked) return [];
  const sentence = sentenceOf({ batch: asked, plan: best }, { batch, plan });
  return [{ kind: 'largerBatch', sentence, globalBatchSize: batch, plan }];
}

/** The request with another global batch size. */
export function withBatch(resolved: ResolvedRequest, globalBatchSize: number): ResolvedRequest {
  const run: RunBase = { ...resolved.run, globalBatchSize };
  return { ...resolved, request: { ...resolved.request, globalBatchSize }, run };
}

/** The best layout of the requested batch if it is fast enough with the larger one, else a usual layout with more replicas. */
function planWithin(resolved: ResolvedRequest, limits: SearchLimits, best: Plan): Plan | undefined {
  const base = runOnGpus(resolved, best.gpus);
  if (brokenRulesOf(base, best).length === 0) {
    const { candidate } = runOfLayout(base, best);
    const plan = planOf(resolved, { candidate, gpus: best.gpus });
    if (plan.prediction.verdict === 'fits' && plan.prediction.stepTimeS <= limits.stepTimeS) return plan;
  }
  const usual = fastestUsualLayout(resolved, base, limits);
  return usual === undefined ? undefined : planOf(resolved, usual);
}

interface Batch {
  readonly batch: number;
  readonly plan: Plan;
}

function sentenceOf(asked: Batch, larger: Batch): string {
  const [askedS, largerS] = [asked, larger].map(({ plan }) => plan.prediction.stepTimeS) as [number, number];
  const times = larger.batch / asked.batch;
  const gain = ((times * askedS) / largerS).toFixed(1);
  return (
    `a global batch of ${counted(larger.batch)} takes ${rounded(largerS)} s per step instead of ${rounded(askedS)} s with ${counted(asked.batch)}: ` +
    `${gain} times the samples per second${onceOf(asked.plan, larger.plan)}; the weights are updated ${SHARES[times]} as often for the same number of tokens`
  );
}

const SHARES: Readonly<Record<number, string>> = { 2: 'half', 4: 'a quarter', 8: 'an eighth' };

/** Parts of a step that do not depend on the batch. */
const ONCE: ReadonlyMap<string, string> = new Map([
  ['bubble', 'are the pipeline bubble'],
  ['dataTraffic', 'go into exchanging gradients and weights'],
  ['optimizer', 'are the optimizer'],
  ['fixed', 'are fixed work'],
]);

/** The reason of the gain: the largest part of the step, if its time is the same with both batches. */
function onceOf(asked: Plan, larger: Plan): string {
  const most = asked.prediction.breakdown.reduce((a, b) => (b.seconds > a.seconds ? b : a));
  const again = larger.prediction.breakdown.find(({ part }) => part === most.part)?.seconds ?? 0;
  const what = ONCE.get(most.part);
  const isMost = 2 * most.seconds > asked.prediction.stepTimeS;
  if (what === undefined || !isMost || Math.abs(again / most.seconds - 1) > SAME_SHARE) return '';
  return `, because ${rounded(most.seconds)} s of each step ${what}`;
}

const SAME_SHARE = 0.05;
