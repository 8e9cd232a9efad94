/** Explains which island holds each stage, and why the stage has its number of layers. */
import { BITS_PER_BYTE } from '@coxswain/units';
import { constantsOf } from '../calibration/calibration-in-use.ts';
import { PAIRED_ERROR_PCT } from '../calibration/paired-error.ts';
import type { Plan } from '../contract.ts';
import type { CandidateLayout, RunFacts } from '../facts.ts';
import type { ResolvedRequest } from '../request/resolved-request.ts';
import { BalancedStages } from '../search/balanced-stages.ts';
import { LayoutCosts } from '../search/layout-costs.ts';
import { searchedRunOf } from '../search/searched-run.ts';
import { stagePartsOf, rankOfStage } from '../stages.ts';
import { islandsOfRanks, speedOfIsland } from '../time/islands.ts';
import { predictStepTime } from '../time/step-time.ts';

/** What may be chosen. */
type Allowed = Pick<ResolvedRequest, 'allow' | 'request'>;
type StagePlacement = Pick<Plan, 'stagesOfIslands' | 'stageGpus' | 'whyStages'>;

/** The fields of a plan that describe its stages. Empty without islands, without a pipeline, or if a stage spans several islands. */
export function explainStages(run: RunFacts, resolved: Allowed): StagePlacement {
  const { cluster, candidate } = run;
  const { islands = [] } = cluster;
  if (islands.length < 2 || candidate.pipeline === 1) return {};
  const ofRanks = islandsOfRanks(run);
  if (ofRanks.some(({ length }) => length !== 1)) return {};
  const counts = islands.map((_, index) => ofRanks.filter(([only]) => only === index).length);
  return {
    stagesOfIslands: counts,
    ...gpusOfStages(run, counts),
    whyStages: `${placesOf(run, counts)}${reasonOf(run, counts, resolved)}`,
  };
}

/** GPU types of consecutive stages; empty if all stages have one type. */
function gpusOfStages(
  { cluster: { islands = [], gpu } }: RunFacts,
  counts: readonly number[],
): Pick<Plan, 'stageGpus'> {
  const stageGpus: { stages: number; gpu: string }[] = [];
  for (const [index, stages] of counts.entries()) {
    const { name } = islands[index]?.gpu ?? gpu;
    const last = stageGpus.at(-1);
    if (stages === 0) continue;
    if (last?.gpu === name) last.stages += stages;
    else stageGpus.push({ stages, gpu: name });
  }
  return stageGpus.length < 2 ? {} : { stageGpus };
}

/** `Stages 1 to 5 (11 or 12 layers each) are in island 1 (…), stages 6 to 8 (…) in island 2 (…)`. */
function placesOf(run: RunFacts, counts: readonly number[]): string {
  const layers = layersOfRanks(run);
  let first = 0;
  const places = counts.flatMap((count, index) => {
    if (count === 0) return [];
    const there = layers.slice(first, first + count);
    const stages = count === 1 ? `stage ${first + 1}` : `stages ${first + 1} to ${first + count}`;
    first += count;
    const layersThere = `${rangeOf(there)} layers${count === 1 ? '' : ' each'}`;
    return [
      `${stages} (${layersThere}) ${first === count ? `${count === 1 ? 'is' : 'are'} ` : ''}in ${nameOf(run, index)}`,
    ];
  });
  const sentence = places.join(', ');
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

function reasonOf(run: RunFacts, counts: readonly number[], resolved: Allowed): string {
  const used = counts.flatMap((count, index) => (count > 0 ? [index] : []));
  const differ = differencesOf(run, used);
  if (differ === undefined)
    return ': the islands have equal GPUs and networks, so only embedding and loss decide how many layers a stage has.';
  const even = withoutStages(run.candidate);
  const evenS = stepOf(run, even);
  if (run.candidate.stages !== undefined) {
    const ownS = stepOf(run, run.candidate);
    if (secondsOf(evenS) === secondsOf(ownS)) return `: ${differ}, by so little that even stages would take as long.`;
    return `: ${differ}, so even stages would take ${secondsOf(evenS)} per step instead of ${secondsOf(ownS)}.`;
  }
  const balancedS = stepOf(run, { ...even, stages: balancedOf(run) });
  if (balancedS > evenS * MIN_REPORTED_RATIO) return `: ${differ}, by too little to move layers.`;
  const faster = `with layers balanced by speed, a step would take ${secondsOf(balancedS)} instead of ${secondsOf(evenS)}`;
  if (mayBeUneven(resolved)) {
    const isTied = balancedS * (1 + PAIRED_ERROR_PCT / 100) >= evenS;
    return `: ${differ}; ${faster}${isTied ? ', which is within the prediction error' : ''}.`;
  }
  return `: ${differ}, but the engine or the request does not allow uneven stages; ${faster}.`;
}

/** A smaller gain does not show, because step times have three digits. */
const MIN_REPORTED_RATIO = 0.999;

function mayBeUneven({ allow, request: { pinned } }: Allowed): boolean {
  if (allow.evenOnly === true || (pinned?.partition ?? 'balanced') !== 'balanced') return false;
  return allow.partitions?.includes('balanced') ?? true;
}

/** How the used islands differ from the first one; undefined if they do not differ. */
function differencesOf(
  { candidate: { tensor }, cluster: { islands = [] } }: RunFacts,
  used: readonly number[],
): string | undefined {
  const [first = 0, ...others] = used;
  const speedOf = (index: number): number => {
    const island = islands[index];
    return island === undefined ? 1 : speedOfIsland(island, tensor);
  };
  const unequal = others.filter((index) => speedOf(index) !== speedOf(first));
  if (unequal.length > 0) {
    const speeds = unequal.map((index) => `of island ${index + 1} are ${(speedOf(index) / speedOf(first)).toFixed(2)}`);
    return `GPUs ${speeds.join(' and ')} times as fast as those of island ${first + 1}`;
  }
  const networkOf = (index: number): string =>
    `${islands[index]?.nicKind ?? ''}/${islands[index]?.scaleOutGbPerS ?? 0}`;
  return others.every((index) => networkOf(index) === networkOf(first))
    ? undefined
    : 'their networks differ, over which each stage moves the gradients of its layers';
}

function nameOf({ cluster }: RunFacts, index: number): string {
  const { islands = [], gpu } = cluster;
  const island = islands[index];
  const gbps = Math.round((island?.scaleOutGbPerS ?? 0) * BITS_PER_BYTE);
  return `island ${index + 1} (${(island?.gpu ?? gpu).name}, ${island?.nicKind ?? ''} of ${gbps} Gb/s)`;
}

function layersOfRanks({ model, candidate }: RunFacts): readonly number[] {
  const layers = Array.from({ length: candidate.pipeline }, () => 0);
  for (const [stage, part] of stagePartsOf(model, candidate).entries()) {
    const rank = rankOfStage(candidate, stage);
    layers[rank] = (layers[rank] ?? 0) + part.layers;
  }
  return layers;
}

function rangeOf(counts: readonly number[]): string {
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? `${least}` : `${least} to ${most}`;
}

/** The candidate without listed stages, which means stages as even as possible. */
function withoutStages({ stages: _stages, ...candidate }: CandidateLayout): CandidateLayout {
  return candidate;
}

function balancedOf({ candidate, ...base }: RunFacts): NonNullable<CandidateLayout['stages']> {
  const searched = searchedRunOf(base, constantsOf(base));
  return new BalancedStages(searched, new LayoutCosts(searched)).of(candidate);
}

function stepOf(run: RunFacts, candidate: CandidateLayout): number {
  return predictStepTime({ ...run, candidate }, constantsOf(run)).stepTimeS;
}

function secondsOf(seconds: number): string {
  return `${seconds >= 100 ? seconds.toFixed(0) : seconds.toPrecision(3)} s`;
}
