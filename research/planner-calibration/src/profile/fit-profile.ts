/**
 * Fits a cluster profile: factors on the constants of the time model that explain the measurements of a cluster.
 *
 * Levenberg-Marquardt on the logarithm of predicted over measured, as the constants themselves are fitted (`../fit/fit.ts`), with a
 * prior around 1 on every factor: a factor that no probe measures stays 1. Deterministic.
 */
import { CALIBRATION, constantsFor, type TimeConstantName, type TimeConstants } from '@coxswain/planner/calibration';
import { CholeskyDecomposition, Matrix } from 'ml-matrix';
import type { ClusterProfile } from '@coxswain/planner';
import type { Probe } from './cluster-measurement.ts';
import { predictProbe, type ProbedCluster } from './predict-probe.ts';

/** One factor moves all constants of its list together. */
interface Factor {
  readonly constants: readonly TimeConstantName[];
  /** Measured with plain PyTorch: an engine whose own constants are known launches its kernels otherwise. */
  readonly isOfHost?: true;
  /** Priced at the bf16 rate whatever the precision is: in fp32 as many times slower is expected as linear layers are priced. */
  readonly isPricedInBf16?: true;
}

/** fp32 on units that have bf16 products: an eighth of the rate (`kernels.ts` of the time model prices linear layers so). */
const FP32_SLOWDOWN = 8;

const FACTORS: readonly Factor[] = [
  { constants: ['gemmSlowdown'] },
  { constants: ['gemmRidge'] },
  { constants: ['gemmWave'] },
  { constants: ['gemmDepth'] },
  { constants: ['flashSlowdown', 'unfusedSlowdown'], isPricedInBf16: true },
  { constants: ['flashSequence'] },
  { constants: ['elementwiseFactor', 'scoresFactor'] },
  { constants: ['vocabularySlowdown'], isPricedInBf16: true },
  { constants: ['lossFactor', 'embeddingFactor'] },
  { constants: ['optimizerFactor'] },
  { constants: ['hostLayerS'], isOfHost: true },
  { constants: ['hostPassS'], isOfHost: true },
  { constants: ['stepOverheadS'], isOfHost: true },
  { constants: ['scaleUpSlowdown'] },
  { constants: ['collectiveLatencyS'] },
  { constants: ['scaleOutSlowdown'] },
  { constants: ['scaleOutLatencyS'] },
  { constants: ['pipelineHopS'] },
];

/** Settings of {@link fitProfile}: prior, noise, and the largest number of iterations. */
export interface ProfileSettings {
  /** Prior standard deviation of a factor, in natural logarithm. */
  readonly sd: number;
  /** Noise of a probe, in natural logarithm. */
  readonly noise: number;
  readonly iterations: number;
}

/**
 * On a GPU the prior is that of the constants' own spread between sources (about a fifth); a CPU that stands for a GPU is like none, so its
 * factors are free. The noise is that of probes on shared machines, and holds products that the model prices roughly at bay.
 */
export const PROFILE_SETTINGS = {
  gpu: { sd: 0.3, noise: 0.1, iterations: 30 },
  standIn: { sd: 2, noise: 0.15, iterations: 60 },
} as const satisfies Readonly<Record<string, ProfileSettings>>;

/** A step counts as much as so many other probes: of these there are more, and in a step operations meet as they meet in training. */
const STEP_IMPORTANCE = 4;

/** What a fit minimises besides the settings: how often each probe counts, and around what each factor is expected, in natural logarithm. */
interface Weighted extends ProfileSettings {
  readonly importance: readonly number[];
  readonly expected: readonly number[];
}

/** A probe with its prediction. */
export interface JudgedProbe {
  readonly probe: Probe;
  readonly measuredS: number;
  readonly usuallyS: number;
  readonly calibratedS: number;
}

/** A cluster profile, and each probe that the fit used with its seconds: measured, predicted without and with the profile. */
export interface FittedProfile {
  readonly profile: ClusterProfile;
  readonly probes: readonly JudgedProbe[];
}

/** The profile that explains the probes, and how well; probes that the model has no formula for are left out. */
export function fitProfile(
  name: string,
  probes: readonly Probe[],
  where: ProbedCluster,
  settings: ProfileSettings,
): FittedProfile {
  const usual = constantsFor(CALIBRATION, where.cluster.gpu.silicon, 'plain PyTorch');
  const known = probes.filter((probe) => predictProbe(probe, where, usual) !== undefined);
  const importance = known.map((probe) => (probe.kind === 'step' ? STEP_IMPORTANCE : 1));
  const logsAt = (at: readonly number[]): number[] => {
    const constants = moved(usual, at);
    return known.map((probe) => Math.log((predictProbe(probe, where, constants) ?? 1) / probe.seconds));
  };
  const expected = FACTORS.map(({ isPricedInBf16 = false }) =>
    isPricedInBf16 && where.precision === 'fp32' ? Math.log(FP32_SLOWDOWN) : 0,
  );
  const at = leastSquares(logsAt, { ...settings, importance, expected });
  const calibrated = moved(usual, at);
  return {
    profile: { name, factors: factorsOf(at) },
    probes: known.map((probe) => ({
      probe,
      measuredS: probe.seconds,
      usuallyS: predictProbe(probe, where, usual) ?? 0,
      calibratedS: predictProbe(probe, where, calibrated) ?? 0,
    })),
  };
}

function moved(constants: TimeConstants, at: readonly number[]): TimeConstants {
  const changed: Record<TimeConstantName, number> = { ...constants };
  FACTORS.forEach((factor, index) => {
    for (const name of factor.constants) changed[name] *= Math.exp(at[index] ?? 0);
  });
  return changed;
}

/** Factors this close to 1 are left out. */
const NEGLIGIBLE_FACTOR = 0.01;
const DIGITS = 4;

function factorsOf(at: readonly number[]): ClusterProfile['factors'] {
  return FACTORS.flatMap(({ constants, isOfHost }, index) => {
    const value = at[index] ?? 0;
    if (Math.abs(value) < NEGLIGIBLE_FACTOR) return [];
    const factor = Number(Math.exp(value).toPrecision(DIGITS));
    return constants.map((constant) => ({ constant, factor, ...(isOfHost === undefined ? {} : { isOfHost }) }));
  });
}

/** Largest step of one factor in one iteration, in natural logarithm. */
const LONGEST_STEP = 1;
/** Where a factor ends, in natural logarithm: that of the largest which a profile may hold. */
const FURTHEST = Math.log(9_999);
const DIFFERENCE = 0.01;

function leastSquares(logsAt: (at: readonly number[]) => number[], settings: Weighted): readonly number[] {
  let at: readonly number[] = settings.expected;
  let logs = logsAt(at);
  let objective = objectiveOf(logs, at, settings);
  let damping = 0.01;
  for (let iteration = 0; iteration < settings.iterations; iteration++) {
    const step = stepOf(logsAt, { at, logs }, settings, damping);
    const next = at.map((value, index) => clamp(value - clamp(step[index] ?? 0, LONGEST_STEP), FURTHEST));
    const nextLogs = logsAt(next);
    const nextObjective = objectiveOf(nextLogs, next, settings);
    if (nextObjective < objective) {
      const isDone = objective - nextObjective < 1e-6 * objective;
      [at, logs, objective] = [next, nextLogs, nextObjective];
      damping = Math.max(damping / 5, 1e-6);
      if (isDone) break;
    } else damping *= 6;
  }
  return at;
}

const clamp = (value: number, limit: number): number => Math.max(-limit, Math.min(limit, value));

/** Weight of a probe in the fit: one that is far off counts less and less (Student's t with three degrees of freedom). */
const FREEDOM = 3;
const weightOf = (log: number, noise: number): number => (FREEDOM + 1) / (FREEDOM + (log / noise) ** 2) / noise ** 2;

function objectiveOf(
  logs: readonly number[],
  at: readonly number[],
  { sd, noise, importance, expected }: Weighted,
): number {
  const misfit = logs.reduce(
    (sum, log, row) => sum + (importance[row] ?? 1) * ((FREEDOM + 1) / 2) * Math.log(1 + (log / noise) ** 2 / FREEDOM),
    0,
  );
  return misfit + at.reduce((sum, value, index) => sum + 0.5 * ((value - (expected[index] ?? 0)) / sd) ** 2, 0);
}

function stepOf(
  logsAt: (at: readonly number[]) => number[],
  { at, logs }: { readonly at: readonly number[]; readonly logs: readonly number[] },
  { sd, noise, importance, expected }: Weighted,
  damping: number,
): readonly number[] {
  const slopes = at.map((value, index) =>
    logsAt(at.with(index, value + DIFFERENCE)).map((log, row) => (log - (logs[row] ?? 0)) / DIFFERENCE),
  );
  const weights = logs.map((log, row) => (importance[row] ?? 1) * weightOf(log, noise));
  const dot = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, value, row) => sum + value * (b[row] ?? 0) * (weights[row] ?? 0), 0);
  const normal = new Matrix(slopes.map((a) => slopes.map((b) => dot(a, b))));
  const gradient = slopes.map(
    (slope, index) => dot(slope, logs) + ((at[index] ?? 0) - (expected[index] ?? 0)) / sd ** 2,
  );
  for (let index = 0; index < at.length; index++)
    normal.set(index, index, (normal.get(index, index) + 1 / sd ** 2) * (1 + damping));
  return new CholeskyDecomposition(normal).solve(Matrix.columnVector(gradient)).to1DArray();
}
