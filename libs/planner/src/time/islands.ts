/** In which islands of the network does each stage of a pipeline lie, and how fast are its GPUs? */
import type { CandidateLayout, ClusterFacts, GpuFacts, RunFacts } from '../facts.ts';
import { groupsOf } from './groups.ts';

type Island = NonNullable<ClusterFacts['islands']>[number];

/** Kept per list of islands: a search asks the same of thousands of layouts. */
const known = new WeakMap<readonly Island[], Map<string, readonly (readonly number[])[]>>();

/**
 * Of each pipeline rank the indices of the islands on which it has GPUs, ascending; no ranks without islands. Ranks fill islands in order, or each stage goes whole
 * into the first island with room for it. What has no room anywhere is counted to the last island.
 */
export function islandsOfRanks({
  cluster,
  candidate,
}: Pick<RunFacts, 'cluster' | 'candidate'>): readonly (readonly number[])[] {
  const { islands = [], gpus, stagesInOneIsland } = cluster;
  if (islands.length === 0) return [];
  const { size, stride } = groupsOf(candidate).pipeline;
  const key = `${gpus}/${size}/${stride}/${stagesInOneIsland ?? false}`;
  const ofIslands = known.get(islands) ?? new Map<string, readonly (readonly number[])[]>();
  known.set(islands, ofIslands);
  const before = ofIslands.get(key);
  if (before !== undefined) return before;
  const found =
    stagesInOneIsland === true ? wholeStages(cluster, size) : filledInOrder(islands, gpus, { size, stride });
  ofIslands.set(key, found);
  return found;
}

function wholeStages(cluster: ClusterFacts, pipeline: number): readonly (readonly number[])[] {
  const counts = wholeStagesOfIslands(cluster, { pipeline });
  const placed = counts.flatMap((count, index) => Array.from({ length: count }, () => [index]));
  return [...placed, ...Array.from({ length: pipeline - placed.length }, () => [counts.length - 1])];
}

function filledInOrder(
  islands: readonly Island[],
  gpus: number,
  { size, stride }: { readonly size: number; readonly stride: number },
): readonly (readonly number[])[] {
  const begins = islands.reduce<number[]>((ends, island) => [...ends, (ends.at(-1) ?? 0) + island.gpus], [0]);
  return Array.from({ length: size }, (_, rank) => {
    const runs = { first: rank * stride, length: stride, every: size * stride };
    return islands.flatMap((_island, index) => {
      const end = Math.min(gpus, begins[index + 1] ?? gpus);
      return hasRunIn(runs, begins[index] ?? 0, end) ? [index] : [];
    });
  });
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

/** Of one of its GPUs relative to what is predicted of the cluster's, with tensor groups of that many; beyond those that are known as with the largest. */
export function speedOfIsland({ relativeSpeed, speedByTensor }: Island, tensor: number): number {
  if (speedByTensor === undefined) return relativeSpeed;
  return relativeSpeed * (speedByTensor[tensor] ?? Object.values(speedByTensor).at(-1) ?? 1);
}

/** Every speed that one of its GPUs can have, whatever the layout. */
export function speedsOfIsland({ relativeSpeed, speedByTensor }: Island): readonly number[] {
  return Object.values(speedByTensor ?? { 1: 1 }).map((speed) => relativeSpeed * speed);
}

/** Speeds of the GPUs of each pipeline rank, relative to what is predicted of the cluster's; in several islands that of the slowest, for which the others wait. */
export function relativeSpeedsOf(run: RunFacts): readonly number[] {
  const { islands = [] } = run.cluster;
  const speeds = islands.map((island) => speedOfIsland(island, run.candidate.tensor));
  return islandsOfRanks(run).map((touched) => Math.min(...touched.map((index) => speeds[index] ?? 1)));
}

/** The mean over the GPUs of a run, of which each stage has as many: of those of its island. */
export function meanOverGpus(run: RunFacts, valueOf: (gpu: GpuFacts) => number): number {
  const { islands = [], gpu } = run.cluster;
  if (islands.every((island) => island.gpu === undefined)) return valueOf(gpu);
  const ofRanks = islandsOfRanks(run).map((touched) =>
    meanOf(touched.map((index) => valueOf(islands[index]?.gpu ?? gpu))),
  );
  return meanOf(ofRanks);
}

/** The run as groups inside that island are priced; of a stage in several islands, or in none, as it is. */
export function pricedIsland<Run extends Pick<RunFacts, 'cluster'>>(run: Run, islands: readonly number[]): Run {
  const [only] = islands;
  if (only === undefined || islands.length > 1) return run;
  return { ...run, cluster: { ...run.cluster, pricedIsland: only } };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
