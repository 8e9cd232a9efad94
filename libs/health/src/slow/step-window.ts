/** What ranks told of their steps within a window, in bounded memory: of each rank 32 of its steps, spread evenly over the window. */
import type { RecordOf, RankWork } from '../trace/records.ts';

export const KEPT_STEPS = 32;

/** Parts of a step in which a rank does not compute. All others are its own work. */
const NO_COMPUTE: ReadonlySet<string> = new Set(['communication', 'data', 'saving', 'evaluation']);
/** Who saves or evaluates for more than this share of a step computes under unusual conditions; the step is left out. */
const OTHER_WORK_SHARE = 0.1;

export type WorkKind = 'squaredTokens' | 'expertTokens';
type Timing = RecordOf<'step'>['ranks'][number];

export interface StepWindow {
  readonly ranks: number;
  /** That whoever is ahead told and has gone on from: by then the others have told them too. Once parts are known, steps that were told in parts. */
  readonly steps: () => number;
  /** The same of all steps. */
  readonly allSteps: () => number;
  /** Whether any rank told parts of its steps. Where none did, its step time stands for its compute time: waiting is in it. */
  readonly hasParts: () => boolean;
  /** Compute of a rank in the steps of it that are kept, {@link KEPT_STEPS} places each; NaN in those that are empty. */
  readonly computeMs: Float32Array;
  /** Of which step each place is; -1 for none. */
  readonly stepAt: Int32Array;
  /** Of that step as the same rank told it; NaN where unknown. Undefined: nobody told any. */
  readonly work: (kind: WorkKind) => Float32Array | undefined;
  /** What a rank's host took on its own in a step in which its GPU was idle: the mean of the steps that told it, NaN for none. */
  readonly hostMs: (rank: number) => number;
  /** Sums over the window. */
  readonly dataMs: Float64Array;
  readonly stepMs: Float64Array;
  readonly add: (record: RecordOf<'step'>) => void;
  readonly clear: () => void;
}

export function stepWindow(ranks: number): StepWindow {
  const computeMs = new Float32Array(ranks * KEPT_STEPS).fill(NaN);
  const stepAt = new Int32Array(ranks * KEPT_STEPS).fill(-1);
  const works = new Map<WorkKind, Float32Array>();
  const told = new Uint32Array(ranks);
  const toldAtAll = new Uint32Array(ranks);
  const hostMs = new Float64Array(ranks);
  const last = new Int32Array(ranks).fill(-1);
  const dataMs = new Float64Array(ranks);
  const stepMs = new Float64Array(ranks);
  let most = 0;
  let mostAtAll = 0;
  let parts = false;

  /** Every second of the steps kept goes, so that those that are left, and those to come, are as far apart. */
  const thinOut = (rank: number): void => {
    for (const values of [computeMs, stepAt, ...works.values()]) {
      const empty = values === stepAt ? -1 : NaN;
      const own = values.subarray(rank * KEPT_STEPS, (rank + 1) * KEPT_STEPS);
      for (let at = 0; at < KEPT_STEPS; at += 1) own[at] = at < KEPT_STEPS / 2 ? (own[2 * at] ?? empty) : empty;
    }
  };
  /** Where a step of that rank belongs; undefined: it is told already, or not among those that are kept. */
  const placeOf = (rank: number, step: number): number | undefined => {
    if (last[rank] === step) return undefined;
    last[rank] = step;
    const number = told[rank] ?? 0;
    told[rank] = number + 1;
    most = Math.max(most, number + 1);
    const stride = strideOf(number);
    if (number % stride !== 0) return undefined;
    if (stride > 1 && number === (KEPT_STEPS / 2) * stride) thinOut(rank);
    const place = rank * KEPT_STEPS + number / stride;
    stepAt[place] = step;
    return place;
  };
  const forgetCompute = (): void => {
    most = 0;
    told.fill(0);
    for (const values of [computeMs, ...works.values()]) values.fill(NaN);
    stepAt.fill(-1);
    hostMs.fill(0);
  };
  const take = (timing: Timing, step: number): void => {
    const { rank, stepTimeMs, timingsMs } = timing;
    const computed = computeOf(timing);
    if (rank >= ranks || computed === undefined) return;
    const hasParts = arePartsTold(timing);
    // Of a step that is told as a whole, waiting is in its time: not to be held against compute of others.
    if (hasParts && !parts) forgetCompute();
    parts ||= hasParts;
    dataMs[rank] = (dataMs[rank] ?? 0) + (timingsMs['data'] ?? 0);
    stepMs[rank] = (stepMs[rank] ?? 0) + stepTimeMs;
    toldAtAll[rank] = (toldAtAll[rank] ?? 0) + 1;
    mostAtAll = Math.max(mostAtAll, toldAtAll[rank] ?? 0);
    if (parts && !hasParts) return;
    hostMs[rank] = (hostMs[rank] ?? 0) + (timingsMs['host'] ?? 0);
    const place = computed > 0 ? placeOf(rank, step) : undefined;
    if (place !== undefined) computeMs[place] = computed;
  };
  const addWork = (work: RankWork, kind: WorkKind, step: number): void => {
    const amount = work[kind];
    if (amount === undefined || work.rank >= ranks) return;
    const place = newestPlace(stepAt, work.rank, step);
    if (place === undefined) return;
    const values = works.get(kind) ?? new Float32Array(ranks * KEPT_STEPS).fill(NaN);
    works.set(kind, values);
    values[place] = amount;
  };
  return {
    ranks,
    computeMs,
    stepAt,
    dataMs,
    stepMs,
    steps: () => Math.max(0, most - 1),
    allSteps: () => Math.max(0, mostAtAll - 1),
    hasParts: () => parts,
    hostMs: (rank) => (hostMs[rank] ?? 0) / (told[rank] ?? 0),
    work: (kind) => works.get(kind),
    add: (record) => {
      for (const timing of record.ranks) take(timing, record.step);
      for (const work of record.work ?? []) {
        addWork(work, 'squaredTokens', record.step);
        addWork(work, 'expertTokens', record.step);
      }
    },
    clear: () => {
      forgetCompute();
      mostAtAll = 0;
      toldAtAll.fill(0);
      dataMs.fill(0);
      stepMs.fill(0);
    },
  };
}

export function arePartsTold({ timingsMs }: Timing): boolean {
  for (const _part in timingsMs) return true;
  return false;
}

/** 1 for the first 32 steps of a rank, 2 for as many more, then 4, and so on. */
function strideOf(number: number): number {
  let stride = 1;
  while (number >= KEPT_STEPS * stride) stride *= 2;
  return stride;
}

function newestPlace(stepAt: Int32Array, rank: number, step: number): number | undefined {
  for (let place = (rank + 1) * KEPT_STEPS - 1; place >= rank * KEPT_STEPS; place -= 1) {
    if ((stepAt[place] ?? -1) !== -1) return stepAt[place] === step ? place : undefined;
  }
  return undefined;
}

/**
 * Its own work in milliseconds: the parts that are no waiting and the like. Where only those that are none are told, what is left of the step; where none
 * at all, the step. Undefined for a step that is to be left out.
 */
export function computeOf({ stepTimeMs, timingsMs }: Timing): number | undefined {
  let own = 0;
  let other = 0;
  let named = false;
  for (const part in timingsMs) {
    const ms = timingsMs[part] ?? 0;
    if (NO_COMPUTE.has(part)) other += ms;
    else {
      own += ms;
      named = true;
    }
  }
  if ((timingsMs['saving'] ?? 0) + (timingsMs['evaluation'] ?? 0) > OTHER_WORK_SHARE * stepTimeMs) return undefined;
  return named ? own : Math.max(0, stepTimeMs - other);
}
