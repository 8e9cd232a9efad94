/** Finds layouts near the answer that need too much memory or time. */
import { formatLayout } from '@coxswain/layout';
import { GIB_BYTES } from '@coxswain/units';
import { predictRun } from '../answer/predict-run.ts';
import type { CandidateLayout } from '../facts.ts';
import { hostCapacityBytesOf } from '../memory/memory-verdict.ts';
import { predictMemory } from '../memory/predict-memory.ts';
import { isOfSomeLayers } from '../recomputation-policies.ts';
import { layoutOfCandidate } from '../request/layout-conversion.ts';
import { runOnGpus, type ResolvedRequest, type RunBase } from '../request/resolved-request.ts';
import type { SearchLimits } from '../search/branch-and-bound.ts';
import { plainCandidateOf, withoutExperts } from '../search/decided-layout.ts';
import type { LayoutModels } from '../search/layout-models.ts';
import { fastestUsualLayout } from '../search/usual-layouts.ts';
import { gpuCountsOf } from '../space/gpu-counts.ts';
import { stateChoicesOf, withStates, type DenseMesh, type SpaceFacts } from '../space/search-space.ts';
import type { StagePartitions } from '../space/stage-partitions.ts';
import { rounded } from './figures.ts';
import { doublingsBetween } from './near-meshes.ts';

interface Neighbourhood {
  readonly space: SpaceFacts;
  readonly run: RunBase;
  readonly models: LayoutModels;
  readonly partitions: StagePartitions;
  /** Nearest first. */
  readonly meshes: readonly DenseMesh[];
}

/** Largest number of other meshes that are checked. */
const MOST_MESHES = 24;
/** Largest number of smaller GPU counts that are checked. */
const MOST_COUNTS = 3;

/** A message about the layout nearest to the answer that does not fit: the answer itself if nothing fits. */
export function nearestTooLarge(near: Neighbourhood, answer: CandidateLayout, peakBytes: number): string | undefined {
  for (const candidate of neighboursOf(near, answer)) {
    if (near.models.refusalOf(candidate) !== undefined) continue;
    const run = { ...near.run, candidate };
    const { peakAllocatedBytes, hostBytesPerGpu } = predictMemory(run);
    const hostBytes = hostCapacityBytesOf(run.cluster);
    const name = nameOf(near.run, candidate);
    if (hostBytesPerGpu > hostBytes)
      return `${name} offloads ${gib(hostBytesPerGpu)} GiB per GPU, but the host has ${gib(hostBytes)} GiB per GPU`;
    if (peakAllocatedBytes > peakBytes)
      return `${name} needs ${gib(peakAllocatedBytes)} GiB per GPU, but ${gib(peakBytes)} GiB may be used`;
  }
  return undefined;
}

/** A message about a layout that misses the deadline: the answer itself if none meets it, else one on fewer GPUs. */
export function nearestTooSlow(
  resolved: ResolvedRequest,
  { candidate, gpus }: { readonly candidate: CandidateLayout; readonly gpus: number },
  { peakBytes, stepTimeS }: SearchLimits,
): string | undefined {
  const leaves = `per step, but the deadline allows ${rounded(stepTimeS)} s`;
  const own = runOnGpus(resolved, gpus);
  const ownS = predictRun({ ...own, candidate }).stepTimeS;
  if (ownS > stepTimeS) return `${nameOf(own, candidate)} takes ${rounded(ownS)} s ${leaves}`;
  const fewer = gpuCountsOf(resolved)
    .filter((count) => count < gpus)
    .slice(-MOST_COUNTS);
  for (const count of fewer.reverse()) {
    const run = runOnGpus(resolved, count);
    const usual = fastestUsualLayout(resolved, run, { peakBytes, stepTimeS: Infinity });
    if (usual !== undefined && usual.stepTimeS > stepTimeS)
      return `${nameOf(run, usual.candidate)} on ${count} GPUs takes ${rounded(usual.stepTimeS)} s ${leaves}`;
  }
  return undefined;
}

/** The answer, layouts that differ in one choice of states or micro-batch, and layouts with its states on other meshes; nearest first. */
function neighboursOf(near: Neighbourhood, answer: CandidateLayout): readonly CandidateLayout[] {
  const { space, run, partitions, meshes } = near;
  const { pinned } = space;
  const mesh = { ...answer, rankOrder: answer.rankOrder ?? 'tp-cp-dp-pp' } as const;
  const states = stateChoicesOf(space, mesh)
    .filter(({ recompute }) => !isOfSomeLayers(recompute))
    .map((choice) => ({ ...withStates(answer, choice, run.model), recomputeLayersPerChunk: undefined }));
  const larger = pinned.microBatchSize === undefined ? [{ ...answer, microBatchSize: 2 * answer.microBatchSize }] : [];
  const others = meshes.slice(0, MOST_MESHES).map((other) => {
    const plain = plainCandidateOf({ ...withoutExperts(other), expert: answer.expert }, partitions);
    return { ...plain, ...statesOf(answer), microBatchSize: answer.microBatchSize };
  });
  const all = [answer, ...states, ...larger, ...others];
  return all
    .map((candidate) => ({ candidate, distance: distanceOf(candidate, answer) }))
    .sort((a, b) => a.distance - b.distance)
    .map(({ candidate }) => candidate);
}

function statesOf(answer: CandidateLayout): Partial<CandidateLayout> {
  const { zeroStage, zeroImplementation, recompute, recomputeModules, offloadOptimizer, offloadActivations } = answer;
  return { zeroStage, zeroImplementation, recompute, recomputeModules, offloadOptimizer, offloadActivations };
}

/** Number of choices that differ, plus doublings of degrees. */
function distanceOf(candidate: CandidateLayout, answer: CandidateLayout): number {
  const differs = [
    candidate.recompute !== answer.recompute || candidate.recomputeModules.join() !== answer.recomputeModules.join(),
    candidate.offloadOptimizer !== answer.offloadOptimizer,
    candidate.offloadActivations !== answer.offloadActivations,
    candidate.zeroStage !== answer.zeroStage,
    candidate.microBatchSize !== answer.microBatchSize,
  ].filter(Boolean).length;
  return differs + doublingsBetween(candidate, answer);
}

/** `tp4 x dp8 x pp2 with micro-batch 1, 1f1b, ZeRO-1, no recomputation`. */
function nameOf({ model }: RunBase, candidate: CandidateLayout): string {
  const { microBatchSize, zeroStage, offloadOptimizer, offloadActivations } = candidate;
  const choices = [
    `micro-batch ${microBatchSize}`,
    ...(candidate.pipeline > 1 ? [candidate.schedule] : []),
    ...(zeroStage > 0 && candidate.data * candidate.context > 1 ? [`ZeRO-${zeroStage}`] : []),
    recomputed(candidate),
    ...(offloadOptimizer > 0 ? ['optimizer states on the host'] : []),
    ...(offloadActivations > 0 ? ['activations on the host'] : []),
  ];
  return `${formatLayout(layoutOfCandidate(candidate, model, 1))} with ${choices.join(', ')}`;
}

function recomputed({ recompute, recomputeModules }: CandidateLayout): string {
  if (recompute === 'none') return 'no recomputation';
  return recompute === 'full' ? 'recomputing all' : `recomputing ${recomputeModules.join(', ')}`;
}

function gib(bytes: number): string {
  return (bytes / GIB_BYTES).toFixed(1);
}
