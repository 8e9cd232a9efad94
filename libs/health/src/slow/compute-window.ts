/** Which ranks computed longer than their peers in a window, and is the rank or its work the cause? */
import type { HealthSettings } from '../settings.ts';
import type { Cohorts } from './cohorts.ts';
import { known, type Levels, levelsOf } from './levels.ts';
import { outliers, type Slow } from './outliers.ts';
import { median, regression } from './robust.ts';
import { KEPT_STEPS, type StepWindow, type WorkKind } from './step-window.ts';
import { unlevelness, type Unlevel } from './unlevel.ts';

/** What the compute times of one window show. */
export interface ComputeFindings {
  /** Ranks that are slower than their cohort for equal reported work. */
  readonly slow: readonly Slow[];
  /** Expert groups that received more than their share of tokens. */
  readonly hotExperts: readonly number[];
  readonly hotRanks: ReadonlySet<number>;
  /** Whether a slow rank may be one whose expert has more tokens: no rank reports tokens, and no copy shows it. */
  readonly mayBeExpert: boolean;
  readonly hasExperts: boolean;
  readonly unlevel: Unlevel;
  /** Part of the variance of compute time that reported work explains. */
  readonly explained: Readonly<Partial<Record<WorkKind, number>>>;
  /** Median compute time of each pipeline stage; NaN without reports. */
  readonly stagesMs: readonly number[];
  /** For equal work, as far as work is known. */
  readonly levels: Levels;
  /** Usual standard deviation of a rank's step times, as a share of their median. */
  readonly spread: number;
}

const LEAST_SAMPLES = 3;
const MOST_SAMPLES = 4_096;
const WORK_KINDS = ['squaredTokens', 'expertTokens'] as const;

/** The node of a rank, if it is known. */
export type NodeOf = (rank: number) => string | undefined;

/** Evaluates the compute times of a window. */
export function computeFindings(
  window: StepWindow,
  cohorts: Cohorts,
  { slow }: HealthSettings,
  nodeOf: NodeOf,
): ComputeFindings {
  const raw = levelsOf(window, window.computeMs, cohorts.cohorts);
  const { explained, values } = forEqualWork(window, cohorts, slow.explained);
  const levels = values === window.computeMs ? raw : levelsOf(window, values, cohorts.cohorts);
  const slowIn = (some: Levels): Slow[] =>
    cohorts.cohorts.flatMap((members, index) => {
      const error = some.errors[index] ?? NaN;
      return outliers({ ...some, members, error, nodeOf, z: slow.z }, slow);
    });
  const found = slowIn(levels);
  const tokensExplain = (explained.expertTokens ?? 0) >= slow.explained;
  const hot = hotExperts(levels === raw ? found : slowIn(raw), found, cohorts, tokensExplain);
  return {
    slow: found.filter(({ rank }) => !hot.ranks.has(rank)),
    hotExperts: hot.experts,
    hotRanks: hot.ranks,
    mayBeExpert: !tokensExplain && hasSingleExperts(cohorts),
    hasExperts: cohorts.expertOf !== undefined,
    unlevel: unlevelness(window, cohorts, raw, slow.jobExcess),
    explained,
    stagesMs: cohorts.stages.map((members) => median(known(members.map((rank) => raw.medianMs[rank] ?? NaN)))),
    levels,
    spread: levels.spread,
  };
}

function forEqualWork(
  window: StepWindow,
  { cohorts }: Cohorts,
  least: number,
): { readonly values: Float32Array; readonly explained: ComputeFindings['explained'] } {
  const explained: Partial<Record<WorkKind, number>> = {};
  let values = window.computeMs;
  for (const kind of WORK_KINDS) {
    const work = window.work(kind);
    if (work === undefined) continue;
    const levelled = levelOut(values, work, cohorts);
    explained[kind] = levelled.explained;
    if (levelled.explained >= least) values = levelled.values;
  }
  return { values, explained };
}

/** Whether some cohort has an expert on one rank alone. */
function hasSingleExperts({ cohorts, expertOf }: Cohorts): boolean {
  if (expertOf === undefined) return false;
  return cohorts.some((members) => [...Map.groupBy(members, expertOf).values()].some((copies) => copies.length === 1));
}

/** Removes the time that more work explains, cohort by cohort; a rank that is slow after that is slow for equal work. */
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
    if (places.length < LEAST_SAMPLES) continue;
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
 * Experts most of whose ranks are slow, on several copies or with reported tokens that explain it. Then the load is the cause, not a rank. An expert
 * on a single rank without reported tokens looks like a slow rank.
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
