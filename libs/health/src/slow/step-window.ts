/** Which step times did ranks report within a window? In bounded memory: of each rank 32 of its steps, spread evenly over the window. */
import type { RecordOf, RankWork } from '../trace/records.ts';

/** Steps of one rank that a window keeps. */
export const KEPT_STEPS = 32;

/** Parts of a step in which a rank does not compute. All other parts are its own work. */
const NO_COMPUTE: ReadonlySet<string> = new Set(['communication', 'data', 'saving', 'evaluation']);
/** A step in which saving and evaluation take more than this share is left out: the rank computes under unusual conditions. */
const OTHER_WORK_SHARE = 0.1;

/** Amounts of work that engines may report with a step. */
export type WorkKind = 'squaredTokens' | 'expertTokens';
type Timing = RecordOf<'step'>['ranks'][number];

/** Step times of one window. Arrays hold one entry for each rank, or {@link KEPT_STEPS} places for each rank. */
export class StepWindow {
  readonly ranks: number;
  /** Compute time of each kept step; NaN in empty places. */
  readonly computeMs: Float32Array;
  /** Number of the step in each place; -1 in empty places. */
  readonly stepAt: Int32Array;
  /** Sums over the window, by rank. */
  readonly dataMs: Float64Array;
  readonly stepMs: Float64Array;
  readonly #works = new Map<WorkKind, Float32Array>();
  readonly #idleHostMs: Float64Array;
  /** Steps that a rank reported, by rank; once any step has parts, steps with parts alone. */
  readonly #reports: Uint32Array;
  readonly #allReports: Uint32Array;
  readonly #lastStep: Int32Array;
  #most = 0;
  #mostOfAll = 0;
  #hasParts = false;

  constructor(ranks: number) {
    this.ranks = ranks;
    this.computeMs = new Float32Array(ranks * KEPT_STEPS).fill(NaN);
    this.stepAt = new Int32Array(ranks * KEPT_STEPS).fill(-1);
    this.dataMs = new Float64Array(ranks);
    this.stepMs = new Float64Array(ranks);
    this.#idleHostMs = new Float64Array(ranks);
    this.#reports = new Uint32Array(ranks);
    this.#allReports = new Uint32Array(ranks);
    this.#lastStep = new Int32Array(ranks).fill(-1);
  }

  /** Steps that are complete: the fastest rank has reported a later one, so the other ranks have reported them too. Once any step has parts, steps with parts alone. */
  get steps(): number {
    return Math.max(0, this.#most - 1);
  }

  /** The same of all steps, with and without parts. */
  get allSteps(): number {
    return Math.max(0, this.#mostOfAll - 1);
  }

  /** Whether any rank reported parts of a step. If none did, the step time stands for compute time and contains waiting. */
  get hasParts(): boolean {
    return this.#hasParts;
  }

  /** Mean time per step that the rank's host worked while its GPU was idle; NaN without a report of it. */
  hostMs(rank: number): number {
    return (this.#idleHostMs[rank] ?? 0) / (this.#reports[rank] ?? 0);
  }

  /** Amount of work in each place; NaN where unknown. Undefined if no rank reported any. */
  work(kind: WorkKind): Float32Array | undefined {
    return this.#works.get(kind);
  }

  /** Adds the reports of one step. */
  add(record: RecordOf<'step'>): void {
    for (const timing of record.ranks) this.#addTiming(timing, record.step);
    for (const work of record.work ?? []) {
      this.#addWork(work, 'squaredTokens', record.step);
      this.#addWork(work, 'expertTokens', record.step);
    }
  }

  /** Begins the next window. */
  clear(): void {
    this.#clearCompute();
    this.#mostOfAll = 0;
    this.#allReports.fill(0);
    this.dataMs.fill(0);
    this.stepMs.fill(0);
  }

  #addTiming(timing: Timing, step: number): void {
    const { rank, timingsMs } = timing;
    const computedMs = computeOf(timing);
    if (rank >= this.ranks || computedMs === undefined) return;
    const hasParts = haveParts(timing);
    // A step without parts contains waiting, so it cannot be compared with compute times.
    if (hasParts && !this.#hasParts) this.#clearCompute();
    this.#hasParts ||= hasParts;
    this.#addSums(timing);
    if (this.#hasParts && !hasParts) return;
    this.#idleHostMs[rank] = (this.#idleHostMs[rank] ?? 0) + (timingsMs['host'] ?? 0);
    const place = computedMs > 0 ? this.#takePlace(rank, step) : undefined;
    if (place !== undefined) this.computeMs[place] = computedMs;
  }

  #addSums({ rank, stepTimeMs, timingsMs }: Timing): void {
    this.dataMs[rank] = (this.dataMs[rank] ?? 0) + (timingsMs['data'] ?? 0);
    this.stepMs[rank] = (this.stepMs[rank] ?? 0) + stepTimeMs;
    const reports = (this.#allReports[rank] ?? 0) + 1;
    this.#allReports[rank] = reports;
    this.#mostOfAll = Math.max(this.#mostOfAll, reports);
  }

  #addWork(work: RankWork, kind: WorkKind, step: number): void {
    const amount = work[kind];
    if (amount === undefined || work.rank >= this.ranks) return;
    const place = newestPlace(this.stepAt, work.rank, step);
    if (place === undefined) return;
    const values = this.#works.get(kind) ?? new Float32Array(this.ranks * KEPT_STEPS).fill(NaN);
    this.#works.set(kind, values);
    values[place] = amount;
  }

  /** The place for a step of that rank; undefined if the step has one already or is not among those that are kept. */
  #takePlace(rank: number, step: number): number | undefined {
    if (this.#lastStep[rank] === step) return undefined;
    this.#lastStep[rank] = step;
    const number = this.#reports[rank] ?? 0;
    this.#reports[rank] = number + 1;
    this.#most = Math.max(this.#most, number + 1);
    const stride = strideOf(number);
    if (number % stride !== 0) return undefined;
    if (stride > 1 && number === (KEPT_STEPS / 2) * stride) this.#thinOut(rank);
    const place = rank * KEPT_STEPS + number / stride;
    this.stepAt[place] = step;
    return place;
  }

  /** Drops every second kept step, so that the remaining steps and those to come are equally far apart. */
  #thinOut(rank: number): void {
    for (const values of [this.computeMs, this.stepAt, ...this.#works.values()]) {
      const empty = values === this.stepAt ? -1 : NaN;
      const own = values.subarray(rank * KEPT_STEPS, (rank + 1) * KEPT_STEPS);
      for (let at = 0; at < KEPT_STEPS; at += 1) own[at] = at < KEPT_STEPS / 2 ? (own[2 * at] ?? empty) : empty;
    }
  }

  #clearCompute(): void {
    this.#most = 0;
    this.#reports.fill(0);
    for (const values of [this.computeMs, ...this.#works.values()]) values.fill(NaN);
    this.stepAt.fill(-1);
    this.#idleHostMs.fill(0);
  }
}

function haveParts({ timingsMs }: Timing): boolean {
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
 * Milliseconds in which a rank computed: the sum of the parts that are compute. If only other parts are reported, the rest of the step; if no parts are
 * reported, the whole step. Undefined for a step that is to be left out.
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
