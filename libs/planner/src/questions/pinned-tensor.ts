/** Advice if pinned tensor groups are larger than a node or NVLink domain: the cost compared with smaller groups. */
import { planOf } from '../answer/plan-of-layout.ts';
import { PAIRED_ERROR_PCT } from '../calibration/paired-error.ts';
import type { Plan, PlanAdvice } from '../contract.ts';
import { runOnGpus, type ResolvedRequest } from '../request/resolved-request.ts';
import type { SearchLimits } from '../search/branch-and-bound.ts';
import { fastestUsualLayout } from '../search/usual-layouts.ts';
import { domainGpusOf, staysInDomain } from '../time/tiers.ts';
import { counted, rounded } from './figures.ts';

/** Empty if the groups stay inside a domain, or if no usual layout with smaller groups is faster by more than the prediction error. */
export function tensorInDomain(resolved: ResolvedRequest, limits: SearchLimits, best: Plan | undefined): PlanAdvice[] {
  const { request, run } = resolved;
  const { tensor, ...pinned } = request.pinned ?? {};
  if (best === undefined || tensor === undefined || staysInDomain(run.cluster, { size: tensor, stride: 1 })) return [];
  const askedS = best.prediction.stepTimeS;
  const open: ResolvedRequest = { ...resolved, request: { ...request, pinned } };
  const stepTimeS = Math.min(limits.stepTimeS, askedS * (1 - PAIRED_ERROR_PCT / 100));
  const layout = fastestUsualLayout(open, runOnGpus(open, best.gpus), { ...limits, stepTimeS });
  if (layout === undefined) return [];
  const plan = planOf(open, layout);
  const trafficS = best.prediction.breakdown.find(({ part }) => part === 'tensorTraffic')?.seconds ?? 0;
  const { gpusPerNode } = run.cluster;
  const domain = domainGpusOf(run.cluster);
  const blocks = domain > gpusPerNode ? `domains of ${counted(domain)} GPUs` : `nodes of ${counted(gpusPerNode)} GPUs`;
  const sentence =
    `tensor groups of ${counted(tensor)} span several ${blocks}, so the traffic of every layer crosses the network: ` +
    `${rounded(trafficS)} of ${rounded(askedS)} s per step; with groups of ${counted(layout.candidate.tensor)}, a step takes ${rounded(plan.prediction.stepTimeS)} s`;
  return [{ kind: 'tensorInDomain', sentence, globalBatchSize: run.globalBatchSize, plan }];
}
