/** How long does a rank compute relative to its peers in the same steps, and how certain is that? */
import { medianInPlace } from './robust.ts';
import { KEPT_STEPS, type StepWindow } from './step-window.ts';

/** Compute times of a window relative to peers. */
export interface Levels {
  /** Median of a rank's ratios; NaN with fewer than three reported steps. */
  readonly level: Float64Array;
  /** Median of its compute time, in milliseconds. */
  readonly medianMs: Float64Array;
  /** Per cohort: the usual standard error of a level, from how a rank's ratios spread over its steps. */
  readonly errors: readonly number[];
  /** Usual standard deviation of a rank's ratios; NaN if no rank reported enough steps. */
  readonly spread: number;
  /** Compute over the median of the cohort in the same step, in the places of the window. */
  readonly ratios: Float32Array;
}

const LEAST_PEERS = 3;
const LEAST_STEPS = 3;
/** A step that a smaller share of a cohort reported is compared with the median of the window. */
const LEAST_SHARE = 0.25;
/** For a normal distribution: standard deviation over MAD, and standard error of a median over that of a mean. */
const SIGMA_OF_MAD = 1.4826;
const ERROR_OF_MEDIAN = 1.2533;

/** Effects that all ranks of a cohort share in one step, such as long sequences, are removed. */
export function levelsOf(window: StepWindow, values: Float32Array, cohorts: readonly (readonly number[])[]): Levels {
  const { ranks, stepAt } = window;
  const scratch = new Float32Array(KEPT_STEPS);
  const medianMs = Float64Array.from({ length: ranks }, (_, rank) => medianOf(values, rank, scratch));
  const ratios = new Float32Array(values.length).fill(NaN);
  for (const members of cohorts) relate(members, { values, stepAt, medianMs, ratios });
  const level = Float64Array.from({ length: ranks }, (_, rank) =>
    gather(ratios, rank, scratch) < LEAST_STEPS ? NaN : medianOf(ratios, rank, scratch),
  );
  const sigmas = Float64Array.from({ length: ranks }, (_, rank) => sigmaOf(ratios, rank, level[rank] ?? NaN, scratch));
  const errors = cohorts.map((members) => medianInPlace(known(members.map((rank) => errorOf(rank, sigmas, ratios)))));
  return { level, medianMs, errors, spread: medianInPlace(sigmas.filter((sigma) => !Number.isNaN(sigma))), ratios };
}

interface Relation {
  readonly values: Float32Array;
  readonly stepAt: Int32Array;
  readonly medianMs: Float64Array;
  readonly ratios: Float32Array;
}

function relate(members: readonly number[], { values, stepAt, medianMs, ratios }: Relation): void {
  const usual = medianInPlace(known(members.map((rank) => medianMs[rank] ?? NaN)));
  const byStep = new Map<number, number[]>();
  for (const rank of members) {
    for (let place = rank * KEPT_STEPS; place < (rank + 1) * KEPT_STEPS; place += 1) {
      const step = stepAt[place] ?? -1;
      if (step === -1 || Number.isNaN(values[place] ?? NaN)) continue;
      const places = byStep.get(step);
      if (places === undefined) byStep.set(step, [place]);
      else places.push(place);
    }
  }
  const least = Math.max(LEAST_PEERS, LEAST_SHARE * members.length);
  for (const places of byStep.values()) {
    const ofStep =
      places.length < least ? usual : medianInPlace(Float64Array.from(places, (place) => values[place] ?? NaN));
    for (const place of places) ratios[place] = (values[place] ?? NaN) / ofStep;
  }
}

/** Copies the values of a rank to `scratch` and returns how many there are. */
function gather(values: Float32Array, rank: number, scratch: Float32Array): number {
  let count = 0;
  for (let place = rank * KEPT_STEPS; place < (rank + 1) * KEPT_STEPS; place += 1) {
    const value = values[place] ?? NaN;
    if (!Number.isNaN(value)) scratch[count++] = value;
  }
  return count;
}

function medianOf(values: Float32Array, rank: number, scratch: Float32Array): number {
  return medianInPlace(scratch.subarray(0, gather(values, rank, scratch)));
}

/** Standard deviation of a rank's ratios. The MAD of few values is too small: of three, by more than half. */
function sigmaOf(ratios: Float32Array, rank: number, level: number, scratch: Float32Array): number {
  const count = gather(ratios, rank, scratch);
  if (count < LEAST_STEPS) return NaN;
  for (let at = 0; at < count; at += 1) scratch[at] = Math.abs((scratch[at] ?? 0) - level);
  return SIGMA_OF_MAD * medianInPlace(scratch.subarray(0, count)) * (1 + 2 / count);
}

function errorOf(rank: number, sigmas: Float64Array, ratios: Float32Array): number {
  let count = 0;
  for (let place = rank * KEPT_STEPS; place < (rank + 1) * KEPT_STEPS; place += 1) {
    if (!Number.isNaN(ratios[place] ?? NaN)) count += 1;
  }
  return (ERROR_OF_MEDIAN * (sigmas[rank] ?? NaN)) / Math.sqrt(count);
}

/** The values that are not NaN. */
export function known(values: readonly number[]): Float64Array {
  return Float64Array.from(values.filter((value) => !Number.isNaN(value)));
}
