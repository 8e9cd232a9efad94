/** In which islands of the network does each stage of a pipeline lie, and how fast are its GPUs? */
import type { CandidateLayout, ClusterFacts, GpuFacts, RunFacts } from '../facts.ts';
import { groupsOf } from './groups.ts';

/**
 * Indices of the islands on which pipeline rank `rank` has GPUs, ascending; none without islands. Ranks fill islands in order, or each stage goes whole into the
 * first island with room for it. What has no room anywhere is counted to the last island.
 */
export function islandsOfRank({ cluster, candidate }: Pick<RunFacts, 'cluster' | 'candidate'>, rank: number): number[] {
  const { islands = [], gpus, stagesInOneIsland } = cluster;
  if (islands.length === 0) return [];
  if (stagesInOneIsland === true) return [wholeStageIsland(cluster, candidate, rank)];
  const { size, stride } = groupsOf(candidate).pipeline;
  const runs = { first: rank * stride, length: stride, every: size * stride };
  const touched: number[] = [];
  let begin = 0;
  for (const [index, island] of islands.entries()) {
    const end = Math.min(gpus, begin + island.gpus);
    if (hasRunIn(runs, begin, end)) touched.push(index);
    begin = end;
  }
  return touched.length === 0 ? [islands.length - 1] : touched;
}

/** Runs of `length` ranks, the first at `first` and then one `every` so many. */
interface Runs {
  readonly first: number;
  readonly length: number;
  readonly every: number;
}

function hasRunIn({ first, length, every }: Runs, begin: number, end: number): boolean {
  const next = Math.max(0, Math.ceil((begin - first - length + 1) / every));
  return first + next * every < end;
}

/** How many stages each island takes whole, in order, until all have a place; the sum is less than the pipeline where they have none. */
export function wholeStagesOfIslands(
  { islands = [], gpus }: ClusterFacts,
  { pipeline }: Pick<CandidateLayout, 'pipeline'>,
): number[] {
  let left = pipeline;
  return islands.map((island) => {
    const taken = Math.min(left, Math.floor((island.gpus * pipeline) / gpus));
    left -= taken;
    return taken;
  });
}

function wholeStageIsland(cluster: ClusterFacts, candidate: CandidateLayout, rank: number): number {
  let end = 0;
  const counts = wholeStagesOfIslands(cluster, candidate);
  const index = counts.findIndex((count) => {
    end += count;
    return rank < end;
  });
  return index < 0 ? counts.length - 1 : index;
}

type Island = NonNullable<ClusterFacts['islands']>[number];

/** Of one of its GPUs relative to what is predicted of the cluster's, with tensor groups of that many; beyond those that are known as with the largest. */
export function speedOfIsland({ relativeSpeed, speedByTensor }: Island, tensor: number): number {
  if (speedByTensor === undefined) return relativeSpeed;
  return relativeSpeed * (speedByTensor[tensor] ?? Object.values(speedByTensor).at(-1) ?? 1);
}

/** Every speed that one of its GPUs can have, whatever the layout. */
export function speedsOfIsland({ relativeSpeed, speedByTensor }: Island): readonly number[] {
  return Object.values(speedByTensor ?? { 1: 1 }).map((speed) => relativeSpeed * speed);
}

/** Speed of the GPUs that a pipeline rank runs on, relative to what is predicted of the cluster's; in several islands that of the slowest, for which the others wait. */
export function relativeSpeedOf(run: RunFacts, rank: number): number {
  const { islands = [] } = run.cluster;
  const speeds = islandsOfRank(run, rank).flatMap((index) => {
    const island = islands[index];
    return island === undefined ? [] : [speedOfIsland(island, run.candidate.tensor)];
  });
  return speeds.length === 0 ? 1 : Math.min(...speeds);
}

/** The mean over the GPUs of a run, of which each stage has as many: of those of its island. */
export function meanOverGpus(run: RunFacts, valueOf: (gpu: GpuFacts) => number): number {
  const { islands = [], gpu } = run.cluster;
  if (islands.every((island) => island.gpu === undefined)) return valueOf(gpu);
  const { pipeline } = run.candidate;
  let sum = 0;
  for (let rank = 0; rank < pipeline; rank++) {
    const values = islandsOfRank(run, rank).map((index) => valueOf(islands[index]?.gpu ?? gpu));
    sum += values.reduce((all, value) => all + value, 0) / values.length;
  }
  return sum / pipeline;
}

/** The run as groups inside that island are priced; of a stage in several islands, or in none, as it is. */
export function seenFrom<Run extends Pick<RunFacts, 'cluster'>>(run: Run, islands: readonly number[]): Run {
  const [only] = islands;
  if (only === undefined || islands.length > 1) return run;
  return { ...run, cluster: { ...run.cluster, seenFrom: only } };
}
