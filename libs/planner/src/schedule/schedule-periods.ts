/**
 * Detects that a schedule with split backward passes repeats. In the middle of a step every rank repeats the same few passes, micro-batch after
 * micro-batch, and what it does next depends on differences of times alone. So a period is found once clocks, messages under way and weight passes owed stand as they stood some
 * rounds ago, shifted by a number of micro-batches and seconds. Those rounds repeat for as long as every rank repeats its passes, so whole periods can be
 * skipped.
 *
 * Times are compared within 1e-12 of their value: skipping n periods changes a makespan by at most n times that share.
 */
import type { RankOrders } from './rank-orders.ts';
import { SAME } from './repeating-waves.ts';
import type { ScheduleInput } from './schedule-input.ts';
import { BACKWARD, BACKWARD_INPUT, FORWARD, PAIRED_FORWARD } from './pass-order.ts';

/** Of ranks, of cells, and stretches per rank; see `ScheduleRun`. */
export interface RunClocks {
  readonly next: Int32Array;
  readonly freeAtS: Float64Array;
  readonly held: Float64Array;
  readonly mayIdleS: Float64Array;
  readonly inputAtS: Float64Array;
  readonly gradientAtS: Float64Array;
  readonly owed: Int32Array;
  readonly firstOwed: Int32Array;
  readonly lastOwed: Int32Array;
}

/** Shares of an activation do not add up exactly. */
const SAME_SHARE = 1e-9;

/** Compares the clocks after every round with those of an earlier round, which it replaces at doubling distances (Brent). */
export class SchedulePeriods {
  private readonly input: ScheduleInput;
  private readonly orders: RankOrders;
  private readonly clocks: RunClocks;
  private readonly remembered: Pick<RunClocks, 'next' | 'freeAtS' | 'held' | 'mayIdleS' | 'firstOwed' | 'lastOwed'>;
  private roundsSince = -1;
  private patience = 1;
  private isOver = false;

  constructor(input: ScheduleInput, orders: RankOrders, clocks: RunClocks) {
    this.input = input;
    this.orders = orders;
    this.clocks = clocks;
    this.remembered = {
      next: new Int32Array(input.pipeline),
      freeAtS: new Float64Array(input.pipeline),
      held: new Float64Array(input.pipeline),
      mayIdleS: new Float64Array(input.pipeline),
      firstOwed: new Int32Array(input.pipeline),
      lastOwed: new Int32Array(input.pipeline),
    };
  }

  /** Moves all clocks on by as many periods as there are left, if rounds repeat; returns how many passes that skips. */
  skipPeriods(): number {
    if (this.isOver || !this.isSteady()) return 0;
    if (this.roundsSince < 0) {
      this.remember();
      return 0;
    }
    this.roundsSince++;
    const microBatches = this.microBatchesSince();
    const shiftS = (this.clocks.freeAtS[0] as number) - (this.remembered.freeAtS[0] as number);
    if (microBatches > 0 && this.ranksRepeat(microBatches, shiftS) && this.messagesRepeat(microBatches, shiftS)) {
      this.isOver = true;
      return this.moveOn(microBatches, shiftS);
    }
    if (this.roundsSince >= this.patience) {
      this.patience = 2 * this.roundsSince;
      this.remember();
    }
    return 0;
  }

  /** Whether every rank is where it repeats its passes; never again when one has come to its end. */
  private isSteady(): boolean {
    const { steadyFrom, steadyTo, perMicroBatch } = this.orders;
    const { next } = this.clocks;
    for (let rank = 0; rank < next.length; rank++) {
      const at = next[rank] as number;
      if (at + perMicroBatch > (steadyTo[rank] as number)) this.isOver = true;
      if (this.isOver || at < (steadyFrom[rank] as number)) return false;
    }
    return true;
  }

  private remember(): void {
    this.roundsSince = 0;
    const { next, freeAtS, held, mayIdleS, firstOwed, lastOwed } = this.clocks;
    this.remembered.next.set(next);
    this.remembered.freeAtS.set(freeAtS);
    this.remembered.held.set(held);
    this.remembered.mayIdleS.set(mayIdleS);
    this.remembered.firstOwed.set(firstOwed);
    this.remembered.lastOwed.set(lastOwed);
  }

  /** By how many micro-batches the first rank has moved on; 0 where that is no whole number. */
  private microBatchesSince(): number {
    const moved = ((this.clocks.next[0] as number) - (this.remembered.next[0] as number)) / this.orders.perMicroBatch;
    return Number.isInteger(moved) ? moved : 0;
  }

  private ranksRepeat(microBatches: number, shiftS: number): boolean {
    const { next, freeAtS, held, owed, firstOwed, lastOwed } = this.clocks;
    const { stages } = this.orders;
    const before = this.remembered;
    const passes = microBatches * this.orders.perMicroBatch;
    for (let rank = 0; rank < next.length; rank++) {
      const freeS = freeAtS[rank] as number;
      if ((next[rank] as number) - (before.next[rank] as number) !== passes) return false;
      if (Math.abs(freeS - (before.freeAtS[rank] as number) - shiftS) > SAME * freeS) return false;
      if (Math.abs((held[rank] as number) - (before.held[rank] as number)) > SAME_SHARE) return false;
    }
    for (let rank = 0; rank < next.length; rank++) {
      const first = firstOwed[rank] as number;
      const last = lastOwed[rank] as number;
      const owedSince = first - (before.firstOwed[rank] as number);
      if (last - (before.lastOwed[rank] as number) !== owedSince) return false;
      for (let at = first; at < last; at++) {
        const one = owed[at] as number;
        const other = owed[at - owedSince] as number;
        if (one - other !== passes || stages[one] !== stages[other]) return false;
      }
    }
    return true;
  }

  /** Messages that have come and are not used yet: of a rhythm, each so much later than that of so many micro-batches before. */
  private messagesRepeat(microBatches: number, shiftS: number): boolean {
    const isSame = (timesS: Float64Array, from: number, to: number): boolean => {
      for (let cell = from; cell < to; cell++) {
        const timeS = timesS[cell] as number;
        if (Math.abs(timeS - (timesS[cell - microBatches] as number) - shiftS) > SAME * timeS) return false;
      }
      return true;
    };
    const { inputAtS, gradientAtS } = this.clocks;
    return this.waiting().every(
      ({ inputs, gradients }) =>
        isSame(inputAtS, inputs.from, inputs.to) && isSame(gradientAtS, gradients.from, gradients.to),
    );
  }

  private moveOn(microBatches: number, shiftS: number): number {
    const { steadyTo, perMicroBatch } = this.orders;
    const { next, freeAtS, mayIdleS, inputAtS, gradientAtS, owed, firstOwed, lastOwed } = this.clocks;
    const passes = microBatches * perMicroBatch;
    const periods = Math.min(
      ...next.map((at, rank) => Math.floor(((steadyTo[rank] as number) - perMicroBatch - at) / passes)),
    );
    if (periods < 1) return 0;
    const laterS = periods * shiftS;
    const later = periods * microBatches;
    for (const { inputs, gradients } of this.waiting()) {
      for (const [timesS, { from, to }] of [
        [inputAtS, inputs],
        [gradientAtS, gradients],
      ] as const) {
        // From the end, as both may overlap.
        for (let cell = to - 1; cell >= from; cell--) timesS[cell + later] = (timesS[cell] as number) + laterS;
      }
    }
    for (let rank = 0; rank < next.length; rank++) {
      for (let at = firstOwed[rank] as number; at < (lastOwed[rank] as number); at++) {
        owed[at] = (owed[at] as number) + later * perMicroBatch;
      }
      next[rank] = (next[rank] as number) + later * perMicroBatch;
      freeAtS[rank] = (freeAtS[rank] as number) + laterS;
      const idleS = (this.remembered.mayIdleS[rank] as number) - (mayIdleS[rank] as number);
      if (idleS > 0) mayIdleS[rank] = (mayIdleS[rank] as number) - periods * idleS;
    }
    return later * perMicroBatch * next.length;
  }

  /** Cells of each stage whose input or gradient has come, and whose pass has not run. */
  private waiting(): readonly Waiting[] {
    const { pipeline, chunks, microBatches } = this.input;
    const { kinds, stages, cells, perMicroBatch } = this.orders;
    const last = pipeline * chunks - 1;
    const forward = new Int32Array(last + 1);
    const backward = new Int32Array(last + 1);
    for (let rank = 0; rank < pipeline; rank++) {
      const at = this.clocks.next[rank] as number;
      for (let pass = at + perMicroBatch - 1; pass >= at; pass--) {
        const kind = kinds[pass];
        if (kind === FORWARD || kind === PAIRED_FORWARD) forward[stages[pass] as number] = cells[pass] as number;
        if (kind === BACKWARD || kind === BACKWARD_INPUT) backward[stages[pass] as number] = cells[pass] as number;
      }
    }
    return Array.from({ length: last + 1 }, (_, stage) => ({
      inputs: {
        from: forward[stage] as number,
        to: stage === 0 ? (forward[stage] as number) : (forward[stage - 1] as number) + microBatches,
      },
      gradients: {
        from: backward[stage] as number,
        to: stage === last ? (forward[stage] as number) : (backward[stage + 1] as number) - microBatches,
      },
    }));
  }
}

interface Waiting {
  readonly inputs: { readonly from: number; readonly to: number };
  readonly gradients: { readonly from: number; readonly to: number };
}
