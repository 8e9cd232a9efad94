/** Explains why a given layout is not the best one. */
import { worldSize } from '@coxswain/layout';
import type { RunFacts } from '../facts.ts';
import type { AskedLayout, Plan, PlanRequest, Prediction, WhyNotAnswer } from '../contract.ts';
import { gpuCountsOf } from '../space/gpu-counts.ts';
import { PAIRED_ERROR_PCT } from '../calibration/paired-error.ts';
import { planOf } from '../answer/plan-of-layout.ts';
import { selectLayouts } from '../answer/select-layouts.ts';
import { brokenRulesOf, runOfLayout } from './predict.ts';
import { predictRun } from '../answer/predict-run.ts';
import { withAssumedEngine } from '../request/assumed-engine.ts';
import { resolveRequest, runOnGpus, type ResolvedRequest, type RunBase } from '../request/resolved-request.ts';
import { goalOf, searchRequest } from '../search/search-request.ts';

/** Relative difference below which times and sizes are equal, as of the same layout with other options. */
const SAME = 1e-9;

/**
 * Explains a layout by its first broken rule, its missing memory, or how much worse than the best layout it is and in which parts of the step.
 *
 * @throws DomainError INVALID_REQUEST for an unknown preset; INVALID_LAYOUT if the models do not cover an option of the layout.
 */
export function whyNot(request: PlanRequest, asked: AskedLayout): WhyNotAnswer {
  const resolved = withAssumedEngine(resolveRequest(request));
  const own = runOnOwnGpus(resolved, asked);
  const broken = brokenRulesOf(own, asked);
  const [first] = broken;
  const best = bestPlanOf(resolved);
  const known = best === undefined ? {} : { best };
  if (first !== undefined) {
    const brokenRules = broken.map(({ rule, message }) => `${rule}: ${message}`);
    return { verdict: 'illegal', reason: first.message, brokenRules, difference: [], ...known };
  }
  const run = runOfLayout(own, asked);
  const prediction = predictRun(run, request.memoryMarginShare);
  const answer = { brokenRules: [], prediction, ...known, difference: differenceOf(prediction, best?.prediction) };
  if (prediction.verdict === 'doesNotFit' || (prediction.verdict === 'tight' && best !== undefined)) {
    return { verdict: 'doesNotFit', reason: memoryReason(prediction), ...answer };
  }
  if (best === undefined) {
    return {
      verdict: 'outsideSearch',
      reason: 'the layout fits only without the memory margin, and the search found no layout that fits with it',
      ...answer,
    };
  }
  return { ...comparison(request, { run, prediction }, best), ...answer };
}

/** The run on the number of GPUs of the layout, if a plan may use that many; else the run on all GPUs. */
function runOnOwnGpus(resolved: ResolvedRequest, { layout }: AskedLayout): RunBase {
  const gpus = worldSize(layout);
  const mayTake = gpuCountsOf(resolved).includes(gpus) && resolved.request.cluster.islands === undefined;
  return mayTake ? runOnGpus(resolved, gpus) : resolved.run;
}

function bestPlanOf(resolved: ResolvedRequest): Plan | undefined {
  const [best] = selectLayouts(searchRequest(resolved, { ...goalOf(resolved), top: 1 }), {
    ...resolved.request,
    top: 1,
  });
  return best === undefined ? undefined : planOf(resolved, best);
}

function memoryReason({ memory, peakGib, capacityGib, verdict }: Prediction): string {
  const worst = memory.reduce((most, stage) => (stage.peakGib > most.peakGib ? stage : most));
  const largest = [...worst.parts].sort((a, b) => b.gib - a.gib)[0];
  const needs = `stage ${worst.stage} needs ${peakGib.toFixed(1)} of ${capacityGib.toFixed(1)} GiB`;
  const most = largest === undefined ? '' : `, most of it ${largest.part} (${largest.gib.toFixed(1)} GiB)`;
  return verdict === 'tight' ? `${needs}${most}, which leaves less than the memory margin` : `${needs}${most}`;
}

interface Asked {
  readonly run: RunFacts;
  readonly prediction: Prediction;
}

function comparison(
  request: PlanRequest,
  { run, prediction }: Asked,
  best: Plan,
): Pick<WhyNotAnswer, 'verdict' | 'reason'> {
  const price = best.costUsd === undefined ? 0 : best.costUsd / (best.prediction.stepTimeS * best.gpus);
  const [what, mine, theirs] = {
    time: ['s per step', prediction.stepTimeS, best.prediction.stepTimeS] as const,
    cost: ['USD', price * prediction.stepTimeS * run.cluster.gpus, best.costUsd ?? 0] as const,
    gpus: ['GPUs', run.cluster.gpus, best.gpus] as const,
    memory: ['GiB per GPU', prediction.peakGib, best.prediction.peakGib] as const,
  }[request.objective];
  const ratio = mine / theirs - 1;
  if (Math.abs(ratio) <= SAME)
    return { verdict: 'best', reason: `no layout needs less than its ${figure(mine)} ${what}` };
  if (ratio < 0 && isTied(request, ratio)) {
    return {
      verdict: 'tied',
      reason: `${figure(mine)} ${what} against ${figure(theirs)} is within ${PAIRED_ERROR_PCT} %, the prediction error between layouts of one job, and the best layout is simpler`,
    };
  }
  const figures = `${figure(mine)} ${what} against ${figure(theirs)}`;
  if (ratio < 0) {
    return {
      verdict: 'outsideSearch',
      reason: `the layout is better than every layout that the search considers: ${figures}`,
    };
  }
  const most = differenceOf(prediction, best.prediction)[0];
  const where =
    most === undefined || request.objective === 'memory' ? '' : `; the largest difference is ${spelled(most.part)}`;
  return { verdict: 'worse', reason: `${(100 * ratio).toFixed(1)} % worse: ${figures}${where}` };
}

/** Whether a difference is within the prediction error. With objective `memory` none is. */
function isTied({ objective }: PlanRequest, ratio: number): boolean {
  return objective !== 'memory' && 1 + ratio >= 1 / (1 + PAIRED_ERROR_PCT / 100);
}

function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/** `expertTraffic` as `expert traffic`. */
function spelled(part: string): string {
  return part.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Parts of a step that take longer than in the best layout (negative: shorter), largest first. */
function differenceOf(mine: Prediction, best: Prediction | undefined): WhyNotAnswer['difference'] {
  if (best === undefined) return [];
  const parts = new Set([...mine.breakdown, ...best.breakdown].map(({ part }) => part));
  const secondsIn = (prediction: Prediction, wanted: string): number =>
    prediction.breakdown.find(({ part }) => part === wanted)?.seconds ?? 0;
  return [...parts]
    .map((part) => ({ part, seconds: secondsIn(mine, part) - secondsIn(best, part) }))
    .filter(({ seconds }) => seconds !== 0)
    .sort((a, b) => b.seconds - a.seconds);
}
