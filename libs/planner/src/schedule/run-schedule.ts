/** Simulates when every pass of a schedule starts and ends. A pass starts when its rank is free and its message has arrived. */
import { BACKWARD_INPUT, BACKWARD_WEIGHT, FORWARD, PAIRED_FORWARD } from './pass-order.ts';
import type { RankOrders } from './rank-orders.ts';
import { SchedulePeriods, type RunClocks } from './schedule-periods.ts';
import { stageOfRank, type ScheduleInput } from './schedule-input.ts';

/** A pass that ran. `kind` is one of pass-order.ts; `cell` is `stage * microBatches + microBatch`. */
export interface PassRun {
  readonly kind: number;
  readonly rank: number;
  readonly stage: number;
  readonly cell: number;
  readonly startS: number;
  readonly endS: number;
}

/** Buffers of a run; they grow to the largest schedule seen. */
export interface RunBuffers {
  times: Float64Array;
  cells: Int32Array;
}

/** Empty buffers. */
export function newRunBuffers(): RunBuffers {
  return { times: new Float64Array(0), cells: new Int32Array(0) };
}

/** A weight pass fills an idle time longer than this share of itself; a shorter one is rounding, or not worth the delay. */
const WORTH_FILLING = 0.01;

/** Shares of an activation, and seconds of passes, do not add up exactly. */
const ROUNDING = 1e-9;

/** Of fewer micro-batches a rank hardly anything is left to skip when they have filled the pipeline. A choice. */
const LEAST_PER_RANK = 4;

/** Of a message that has not come. */
const NOT_YET = -1;

/** Options of {@link runSchedule}. */
export interface RunOptions {
  /** Called for every pass, in the order of its rank. */
  readonly listener?: (run: PassRun) => void;
  /** Limit in seconds: the simulation stops once the makespan is known to exceed it. */
  readonly mostS?: number;
}

/**
 * Simulates a schedule and returns its makespan in seconds. If it exceeds `mostS`, the result is any value between `mostS` and the makespan.
 *
 * Weight passes that wait for a place run where their rank would idle, where a forward would exceed the plan's limit of activations,
 * and at the end. That choice depends on the times, so a schedule with such passes may get longer by a little when a pass gets shorter.
 */
export function runSchedule(
  input: ScheduleInput,
  orders: RankOrders,
  buffers: RunBuffers,
  options: RunOptions = {},
): number {
  const run = new ScheduleRun(input, orders, buffers, options);
  return run.runAll() ?? run.finish();
}

/** The clocks of all ranks: views into the buffers, set to the start of a step. */
class ScheduleRun implements RunClocks {
  private readonly input: ScheduleInput;
  private readonly orders: RankOrders;
  private readonly listener: ((run: PassRun) => void) | undefined;
  /** What a weight pass frees, by the accounting of the plan's limit. */
  private readonly weightShare: number;
  private readonly startedAtS: Float64Array;
  readonly freeAtS: Float64Array;
  readonly held: Float64Array;
  /** What a rank may still idle until the makespan is longer than asked for: no rank takes less than all its passes and its idle times. */
  readonly mayIdleS: Float64Array;
  /** Arrival of inputs and gradients by cell. */
  readonly inputAtS: Float64Array;
  readonly gradientAtS: Float64Array;
  /** The next pass of each rank. */
  readonly next: Int32Array;
  /** Weight passes that ranks owe, oldest first, as indices into the orders; a stretch per rank. */
  readonly owed: Int32Array;
  readonly firstOwed: Int32Array;
  readonly lastOwed: Int32Array;
  private readonly mostS: number;
  private isTooLong = false;

  constructor(input: ScheduleInput, orders: RankOrders, buffers: RunBuffers, options: RunOptions) {
    const { pipeline, chunks, microBatches } = input;
    const perRank = chunks * microBatches;
    const cells = pipeline * perRank;
    if (buffers.times.length < 4 * pipeline + 2 * cells) buffers.times = new Float64Array(4 * pipeline + 2 * cells);
    if (buffers.cells.length < 3 * pipeline + cells) buffers.cells = new Int32Array(3 * pipeline + cells);
    const times = (from: number, length: number) => buffers.times.subarray(from, from + length);
    this.input = input;
    this.orders = orders;
    this.listener = options.listener;
    this.mostS = (options.mostS ?? Infinity) * (1 + ROUNDING);
    this.weightShare = orders.limitCountsWeightShare ? (input.weightShare ?? 1) : 1;
    this.startedAtS = times(0, pipeline).fill(NOT_YET);
    this.freeAtS = times(pipeline, pipeline).fill(0);
    this.held = times(2 * pipeline, pipeline).fill(0);
    this.mayIdleS = times(3 * pipeline, pipeline).fill(this.mostS);
    this.inputAtS = times(4 * pipeline, cells).fill(NOT_YET);
    this.inputAtS.fill(0, 0, microBatches);
    this.gradientAtS = times(4 * pipeline + cells, cells).fill(NOT_YET);
    this.firstOwed = buffers.cells.subarray(0, pipeline);
    this.lastOwed = buffers.cells.subarray(pipeline, 2 * pipeline);
    this.next = buffers.cells.subarray(2 * pipeline, 3 * pipeline);
    this.owed = buffers.cells.subarray(3 * pipeline, 3 * pipeline + cells);
    for (let rank = 0; rank < pipeline; rank++) {
      this.next[rank] = orders.beginnings[rank] as number;
      this.firstOwed[rank] = rank * perRank;
      this.lastOwed[rank] = rank * perRank;
    }
    if (this.mostS < Infinity) this.takeOffPasses();
  }

  private takeOffPasses(): void {
    const { pipeline, chunks, microBatches, forwardS, backwardInputS, backwardWeightS } = this.input;
    for (let rank = 0; rank < pipeline; rank++) {
      let passesS = 0;
      for (let chunk = 0; chunk < chunks; chunk++) {
        const stage = stageOfRank(this.input, rank, chunk);
        passesS += (forwardS[stage] as number) + (backwardInputS[stage] as number) + (backwardWeightS[stage] as number);
      }
      this.mayIdleS[rank] = this.mostS - microBatches * passesS;
    }
  }

  /**
   * All passes of the orders, and the weight passes they make room or leave time for. Every rank runs for as long as messages have come, down the
   * ranks and up again, as messages go. A number where the makespan is known to be longer than asked for.
   */
  runAll(): number | undefined {
    const { pipeline, schedule } = this.input;
    const last = pipeline - 1;
    const { beginnings } = this.orders;
    const rhythm = this.canSkipPeriods() ? new SchedulePeriods(this.input, this.orders, this) : undefined;
    let left = beginnings[pipeline] as number;
    while (left > 0) {
      const before = left;
      left -= this.runRanks(0, pipeline, 1);
      left -= this.runRanks(last - 1, pipeline - 2, -1);
      if (this.isTooLong) return this.mostS;
      if (left === before) throw new Error(`the passes of ${schedule} wait for each other`);
      const skipped = rhythm?.skipPeriods() ?? 0;
      if (skipped > 0 && this.mayIdleS.some((idleS) => idleS < 0)) return this.mostS;
      left -= skipped;
    }
    return undefined;
  }

  /** Whether whole periods may be skipped: not if a listener needs every pass. */
  private canSkipPeriods(): boolean {
    const { pipeline, microBatches } = this.input;
    return this.listener === undefined && pipeline > 1 && microBatches >= LEAST_PER_RANK * pipeline;
  }

  /** Runs the passes of each of so many ranks up to the first that has to wait, and returns how many passes that were. */
  private runRanks(first: number, ranks: number, step: number): number {
    const { microBatches, forwardS, backwardInputS, backwardWeightS, forwardHopS, backwardHopS } = this.input;
    const { kinds, stages, cells, crossesRanks, hasDeferredWeightPasses, beginnings } = this.orders;
    const { startedAtS, freeAtS, mayIdleS, held, inputAtS, gradientAtS, next, owed, firstOwed, lastOwed } = this;
    const { weightShare } = this;
    const listened = this.listener !== undefined;
    const lastStage = this.input.pipeline * this.input.chunks - 1;
    const blocking = this.input.p2p === 'blocking';
    const activationLimit = this.orders.activationLimit + ROUNDING;
    let ran = 0;
    for (let visited = 0, rank = first; visited < ranks; visited++, rank += step) {
      const from = next[rank] as number;
      const behind = beginnings[rank + 1] as number;
      let freeS = freeAtS[rank] as number;
      let mayIdle = mayIdleS[rank] as number;
      let holds = held[rank] as number;
      let oldest = firstOwed[rank] as number;
      let newest = lastOwed[rank] as number;
      let i = from;
      for (; i < behind; i++) {
        const kind = kinds[i] as number;
        if (kind === BACKWARD_WEIGHT) {
          if (oldest === newest) break;
          const at = owed[oldest++] as number;
          const endS = freeS + (backwardWeightS[stages[at] as number] as number);
          if (listened) this.ran(BACKWARD_WEIGHT, rank, at, { startS: freeS, endS });
          freeS = endS;
          holds -= weightShare;
          continue;
        }
        const stage = stages[i] as number;
        const cell = cells[i] as number;
        const isForward = kind === FORWARD || kind === PAIRED_FORWARD;
        const arrivesS = (isForward ? inputAtS[cell] : gradientAtS[cell]) as number;
        if (arrivesS < 0) break;
        let startS = arrivesS;
        if (kind === PAIRED_FORWARD) {
          const gradientS = gradientAtS[cells[i + 1] as number] as number;
          if (gradientS < 0) break;
          startS = Math.max(startS, gradientS);
        }
        if (hasDeferredWeightPasses) {
          while (oldest < newest) {
            const at = owed[oldest] as number;
            const weightS = backwardWeightS[stages[at] as number] as number;
            const full = isForward && holds + 1 > activationLimit;
            if (!full && arrivesS - freeS <= WORTH_FILLING * weightS) break;
            if (listened) this.ran(BACKWARD_WEIGHT, rank, at, { startS: freeS, endS: freeS + weightS });
            oldest++;
            freeS += weightS;
            holds -= weightShare;
          }
        }
        startS = Math.max(startS, freeS);
        if ((startedAtS[rank] as number) < 0) startedAtS[rank] = startS;
        else mayIdle -= startS - freeS;
        let endS = startS;
        let sentAtS = startS;
        if (isForward) {
          endS += forwardS[stage] as number;
          if (listened) this.ran(FORWARD, rank, i, { startS, endS });
          holds += 1;
        }
        if (kind !== FORWARD) {
          const at = kind === PAIRED_FORWARD ? ++i : i;
          const returning = stages[at] as number;
          const backwardFromS = endS;
          endS += backwardInputS[returning] as number;
          if (kind === BACKWARD_INPUT) {
            owed[newest++] = at;
            holds -= 1 - weightShare;
          } else {
            endS += backwardWeightS[returning] as number;
            holds -= 1;
          }
          if (listened) this.ran(kinds[at] as number, rank, at, { startS: backwardFromS, endS });
          if (returning > 0) {
            sentAtS = endS + (backwardHopS[returning - 1] as number) * (crossesRanks[returning - 1] as number);
            gradientAtS[(cells[at] as number) - microBatches] = sentAtS;
          }
        }
        if (isForward && stage < lastStage) {
          const arrivalS = endS + (forwardHopS[stage] as number) * (crossesRanks[stage] as number);
          inputAtS[cell + microBatches] = arrivalS;
          sentAtS = Math.max(sentAtS, arrivalS);
        } else if (isForward) {
          gradientAtS[cell] = endS;
        }
        freeS = blocking ? Math.max(endS, sentAtS) : endS;
      }
      if (i === from) continue;
      ran += i - from;
      next[rank] = i;
      freeAtS[rank] = freeS;
      mayIdleS[rank] = mayIdle;
      held[rank] = holds;
      firstOwed[rank] = oldest;
      lastOwed[rank] = newest;
      this.isTooLong ||= mayIdle < 0;
    }
    return ran;
  }

  /** Runs what weight passes are left and returns the makespan. */
  finish(): number {
    let makespanS = 0;
    for (let rank = 0; rank < this.input.pipeline; rank++) {
      while ((this.firstOwed[rank] as number) < (this.lastOwed[rank] as number)) this.runOldestWeight(rank);
      makespanS = Math.max(makespanS, (this.freeAtS[rank] as number) - (this.startedAtS[rank] as number));
    }
    return makespanS;
  }

  private runOldestWeight(rank: number): void {
    const at = this.firstOwed[rank] as number;
    const owed = this.owed[at] as number;
    const startS = this.freeAtS[rank] as number;
    const endS = startS + (this.input.backwardWeightS[this.orders.stages[owed] as number] as number);
    this.firstOwed[rank] = at + 1;
    this.freeAtS[rank] = endS;
    this.held[rank] = (this.held[rank] as number) - this.weightShare;
    if (this.listener !== undefined) this.ran(BACKWARD_WEIGHT, rank, owed, { startS, endS });
  }

  private ran(
    kind: number,
    rank: number,
    index: number,
    { startS, endS }: { readonly startS: number; readonly endS: number },
  ): void {
    const { stages, cells } = this.orders;
    this.listener?.({ kind, rank, stage: stages[index] as number, cell: cells[index] as number, startS, endS });
  }
}
