/** The islands of each pipeline stage, and the speed of its GPUs. */
import type { CandidateLayout, ClusterFacts, GpuFacts, RunFacts } from '../facts.ts';
import { groupsOf } from './groups.ts';

type Island = NonNullable<ClusterFacts['islands']>[number];

/** Cached by list of islands, because a search reads the same for thousands of layouts. */
const known = new WeakMap<readonly Island[], Map<string, readonly (readonly number[])[]>>();

/**
 * For each pipeline rank, the indices of the islands of its GPUs, ascending; empty without islands. Ranks fill islands in order, or each stage is placed whole in
 * the first island with enough free GPUs. A stage that fits nowhere counts for the last island.
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

/** Number of whole stages on each island, in order. The sum is less than the pipeline if some stages fit nowhere. */
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

/** Speed of a GPU of an island relative to the cluster's GPU, by tensor degree; larger degrees use the largest known one. */
export function speedOfIsland({ relativeSpeed, speedByTensor }: Island, tensor: number): number {
  if (speedByTensor === undefined) return relativeSpeed;
  return relativeSpeed * (speedByTensor[tensor] ?? Object.values(speedByTensor).at(-1) ?? 1);
}

/** Every speed that a GPU of an island can have, over all layouts. */
export function speedsOfIsland({ relativeSpeed, speedByTensor }: Island): readonly number[] {
  return Object.values(speedByTensor ?? { 1: 1 }).map((speed) => relativeSpeed * speed);
}

/** Speed of each pipeline rank relative to the cluster's GPU; in several islands that of the slowest. */
export function relativeSpeedsOf(run: RunFacts): readonly number[] {
  const { islands = [] } = run.cluster;
  const speeds = islands.map((island) => speedOfIsland(island, run.candidate.tensor));
  return islandsOfRanks(run).map((touched) => Math.min(...touched.map((index) => speeds[index] ?? 1)));
}

/** The mean of a value over the GPUs of a run; each stage has the GPUs of its island. */
export function meanOverGpus(run: RunFacts, valueOf: (gpu: GpuFacts) => number): number {
  const { islands = [], gpu } = run.cluster;
  if (islands.every((island) => island.gpu === undefined)) return valueOf(gpu);
  const ofRanks = islandsOfRanks(run).map((touched) =>
    meanOf(touched.map((index) => valueOf(islands[index]?.gpu ?? gpu))),
  );
  return meanOf(ofRanks);
}

/** The run with the network of the island that holds a stage; unchanged if the stage is in several islands or none. */
export function pricedIsland<Run extends Pick<RunFacts, 'cluster'>>(run: Run, islands: readonly number[]): Run {
  const [only] = islands;
  if (only === undefined || islands.length > 1) return run;
  return { ...run, cluster: { ...run.cluster, pricedIsland: only } };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
