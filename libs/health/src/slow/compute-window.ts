/** What does a window's compute time say: who is slower than peers, and is it the rank or its work? */
import type { HealthSettings } from '../settings.ts';
import type { Cohorts } from './cohorts.ts';
import { median, medianInPlace, regression, robustZ, spreadOf } from './robust.ts';
import { KEPT_STEPS, type StepWindow, type WorkKind } from './step-window.ts';

export interface Slow {
  readonly rank: number;
  readonly computeMs: number;
  readonly usualMs: number;
  readonly z: number;
}

export interface ComputeFindings {
  /** Slower than their cohort, work that was told being taken into account. */
  readonly slow: readonly Slow[];
  /** Of experts that got more than their share. */
  readonly hotExperts: readonly number[];
  /** How much the 90th percentile of ranks is above the median in a step, what is usual for each rank being taken away. */
  readonly unlevel: number;
  /** Part of the variance of compute that told work explains. */
  readonly explained: Readonly<Partial<Record<WorkKind, number>>>;
  /** Median compute of each pipeline stage, NaN where nothing was told. */
  readonly stagesMs: readonly number[];
  readonly medianMs: Float64Array;
}

const LEAST_PEERS = 3;
const MOST_SAMPLES = 4_096;
const WORK_KINDS = ['squaredTokens', 'expertTokens'] as const;

export function computeFindings(window: StepWindow, cohorts: Cohorts, { slow }: HealthSettings): ComputeFindings {
  const rawMs = mediansOf(window.computeMs, window.ranks);
  const explained: Partial<Record<WorkKind, number>> = {};
  let values = window.computeMs;
  for (const kind of WORK_KINDS) {
    const work = window.work(kind);
    if (work === undefined) continue;
    const levelled = levelOut(values, work, cohorts.cohorts);
    explained[kind] = levelled.explained;
    if (levelled.explained >= slow.explained) values = levelled.values;
  }
  const levelMs = values === window.computeMs ? rawMs : mediansOf(values, window.ranks);
  const found = cohorts.cohorts.flatMap((members) => outliers(members, levelMs, slow));
  const raw =
    values === window.computeMs ? found : cohorts.cohorts.flatMap((members) => outliers(members, rawMs, slow));
  const hot = hotExperts(raw, found, cohorts, (explained.expertTokens ?? 0) >= slow.explained);
  return {
    slow: found.filter(({ rank }) => !hot.ranks.has(rank)),
    hotExperts: hot.experts,
    unlevel: unlevelness(window, cohorts.cohorts, rawMs),
    explained,
    stagesMs: cohorts.stages.map((members) => median(known(members.map((rank) => rawMs[rank] ?? NaN)))),
    medianMs: levelMs,
  };
}

function mediansOf(values: Float32Array, ranks: number): Float64Array {
  const scratch = new Float32Array(KEPT_STEPS);
  return Float64Array.from({ length: ranks }, (_, rank) => {
    let count = 0;
    for (let at = rank * KEPT_STEPS; at < (rank + 1) * KEPT_STEPS; at += 1) {
      const value = values[at] ?? NaN;
      if (!Number.isNaN(value)) scratch[count++] = value;
    }
    return medianInPlace(scratch.subarray(0, count));
  });
}

function known(values: readonly number[]): number[] {
  return values.filter((value) => !Number.isNaN(value));
}

function outliers(
  members: readonly number[],
  medianMs: Float64Array,
  { z: limit, excess, epsilon }: HealthSettings['slow'],
): Slow[] {
  const told = members.filter((rank) => !Number.isNaN(medianMs[rank] ?? NaN));
  if (told.length < LEAST_PEERS) return [];
  const spread = spreadOf(
    told.map((rank) => medianMs[rank] ?? 0),
    epsilon,
  );
  return told.flatMap((rank) => {
    const computeMs = medianMs[rank] ?? 0;
    const z = robustZ(computeMs, spread);
    return z > limit && computeMs > (1 + excess) * spread.median
      ? [{ rank, computeMs, usualMs: spread.median, z }]
      : [];
  });
}

/** Takes away what more work explains, cohort by cohort: who is slow then is slow for equal work. */
function levelOut(
  values: Float32Array,
  work: Float32Array,
  cohorts: readonly (readonly number[])[],
): { readonly values: Float32Array; readonly explained: number } {
  const levelled = values.slice();
  const shares: number[] = [];
  for (const members of cohorts) {
    const places = members
      .flatMap((rank) => Array.from({ length: KEPT_STEPS }, (_, at) => rank * KEPT_STEPS + at))
      .filter((at) => !Number.isNaN(values[at] ?? NaN) && !Number.isNaN(work[at] ?? NaN));
    if (places.length < LEAST_PEERS) continue;
    const some = places.filter((_, index) => index % Math.ceil(places.length / MOST_SAMPLES) === 0);
    const x = some.map((at) => work[at] ?? 0);
    const { slope, explained } = regression(
      x,
      some.map((at) => values[at] ?? 0),
    );
    shares.push(explained);
    const usual = median(x);
    for (const at of places) levelled[at] = (values[at] ?? 0) - slope * ((work[at] ?? 0) - usual);
  }
  return { values: levelled, explained: shares.length === 0 ? 0 : median(shares) };
}

/**
 * Experts most of whose ranks are slow, on several copies or with the tokens to show for it: then it is the load, and no rank. An expert on a
 * single rank that told no tokens looks like a slow rank.
 */
function hotExperts(
  raw: readonly Slow[],
  levelled: readonly Slow[],
  { cohorts, expertOf }: Cohorts,
  tokensExplain: boolean,
): { readonly experts: readonly number[]; readonly ranks: ReadonlySet<number> } {
  if (expertOf === undefined) return { experts: [], ranks: new Set() };
  const still = new Set(levelled.map(({ rank }) => rank));
  const slow = new Set(raw.map(({ rank }) => rank));
  const experts = new Set<number>();
  const ranks = new Set<number>();
  for (const members of cohorts) {
    for (const [expert, copies] of Map.groupBy(members, expertOf)) {
      const hot = copies.filter((rank) => slow.has(rank));
      const isLoad = tokensExplain
        ? hot.some((rank) => !still.has(rank))
        : hot.length > 1 && hot.length > copies.length / 2;
      if (!isLoad) continue;
      experts.add(expert);
      for (const rank of hot) if (!tokensExplain || !still.has(rank)) ranks.add(rank);
    }
  }
  return { experts: [...experts].sort((a, b) => a - b), ranks };
}

function unlevelness(window: StepWindow, cohorts: readonly (readonly number[])[], medianMs: Float64Array): number {
  let most = 0;
  for (const members of cohorts) {
    if (members.length < LEAST_PEERS) continue;
    const perStep: number[] = [];
    for (let place = 0; place < KEPT_STEPS; place += 1) {
      const ratios = Float64Array.from(
        known(members.map((rank) => (window.computeMs[rank * KEPT_STEPS + place] ?? NaN) / (medianMs[rank] ?? NaN))),
      ).sort();
      if (ratios.length < LEAST_PEERS) continue;
      const middle = ratios[ratios.length >> 1] ?? 1;
      perStep.push((ratios[Math.floor(0.9 * (ratios.length - 1))] ?? middle) / middle - 1);
    }
    if (perStep.length > 0) most = Math.max(most, median(perStep));
  }
  return most;
}
