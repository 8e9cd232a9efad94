/** When does every pass of a sequence start and end? One sweep over the list: a pass starts when its rank is free and its message has come. */
import { BACKWARD_INPUT, BACKWARD_WEIGHT, FORWARD, PAIRED_FORWARD } from './pass-order.ts';
import type { PassSequence } from './pass-sequence.ts';
import type { ScheduleInput } from './schedule-input.ts';

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

export function newRunBuffers(): RunBuffers {
  return { times: new Float64Array(0), cells: new Int32Array(0) };
}

/** A weight pass fills an idle time longer than this share of itself; a shorter one is rounding, or not worth the delay. */
const WORTH_FILLING = 0.01;

/** Shares of an activation do not add up exactly. */
const ROUNDING = 1e-9;

/**
 * Makespan in seconds, see `makespanOf`. `listener` is told of every pass, in the order of its rank.
 *
 * Weight passes that wait for a place run where their rank would idle, where a forward would exceed the plan's limit of activations,
 * and at the end. That choice depends on the times, so a schedule with such passes may get longer by a little when a pass gets shorter.
 */
export function runSequence(
  input: ScheduleInput,
  sequence: PassSequence,
  buffers: RunBuffers,
  listener?: (run: PassRun) => void,
): number {
  const run = new SequenceRun(input, sequence, buffers, listener);
  run.runAll();
  return run.finish();
}

/** The clocks of all ranks: views into the buffers, set to the start of a step. */
class SequenceRun {
  private readonly input: ScheduleInput;
  private readonly sequence: PassSequence;
  private readonly listener: ((run: PassRun) => void) | undefined;
  /** What a weight pass frees, by the accounting of the plan's limit. */
  private readonly weightShare: number;
  private readonly startedAtS: Float64Array;
  private readonly freeAtS: Float64Array;
  private readonly held: Float64Array;
  /** Arrival of inputs and gradients by cell. */
  private readonly inputAtS: Float64Array;
  private readonly gradientAtS: Float64Array;
  /** Weight passes that ranks owe, oldest first, as indices into the sequence; a stretch per rank. */
  private readonly owed: Int32Array;
  private readonly firstOwed: Int32Array;
  private readonly lastOwed: Int32Array;

  constructor(
    input: ScheduleInput,
    sequence: PassSequence,
    buffers: RunBuffers,
    listener: ((run: PassRun) => void) | undefined,
  ) {
    const { pipeline, chunks, microBatches } = input;
    const perRank = chunks * microBatches;
    const cells = pipeline * perRank;
    if (buffers.times.length < 3 * pipeline + 2 * cells) buffers.times = new Float64Array(3 * pipeline + 2 * cells);
    if (buffers.cells.length < 2 * pipeline + cells) buffers.cells = new Int32Array(2 * pipeline + cells);
    const times = (from: number, length: number) => buffers.times.subarray(from, from + length);
    this.input = input;
    this.sequence = sequence;
    this.listener = listener;
    this.weightShare = sequence.limitKnowsWeightShare ? (input.weightShare ?? 1) : 1;
    this.startedAtS = times(0, pipeline).fill(-1);
    this.freeAtS = times(pipeline, pipeline).fill(0);
    this.held = times(2 * pipeline, pipeline).fill(0);
    this.inputAtS = times(3 * pipeline, cells);
    this.inputAtS.fill(0, 0, microBatches);
    this.gradientAtS = times(3 * pipeline + cells, cells);
    this.firstOwed = buffers.cells.subarray(0, pipeline);
    this.lastOwed = buffers.cells.subarray(pipeline, 2 * pipeline);
    this.owed = buffers.cells.subarray(2 * pipeline, 2 * pipeline + cells);
    for (let rank = 0; rank < pipeline; rank++) {
      this.firstOwed[rank] = rank * perRank;
      this.lastOwed[rank] = rank * perRank;
    }
  }

  /** All passes of the sequence, and the weight passes they make room or leave time for. */
  runAll(): void {
    const { microBatches, forwardS, backwardInputS, backwardWeightS, forwardHopS, backwardHopS } = this.input;
    const { kinds, stages, cells, ranks, crossesRanks, weightsWait } = this.sequence;
    const { startedAtS, freeAtS, held, inputAtS, gradientAtS, owed, firstOwed, lastOwed } = this;
    const lastStage = this.input.pipeline * this.input.chunks - 1;
    const blocking = this.input.p2p === 'blocking';
    const freedByInput = 1 - this.weightShare;
    const listened = this.listener !== undefined;
    for (let i = 0; i < kinds.length; i++) {
      const kind = kinds[i] as number;
      const rank = ranks[i] as number;
      const stage = stages[i] as number;
      const cell = cells[i] as number;
      if (kind === BACKWARD_WEIGHT) {
        this.runOldestWeight(rank);
        continue;
      }
      const isForward = kind === FORWARD || kind === PAIRED_FORWARD;
      const arrivesS = (isForward ? inputAtS[cell] : gradientAtS[cell]) as number;
      if (weightsWait && (firstOwed[rank] as number) < (lastOwed[rank] as number)) {
        this.runWeightsBefore(rank, arrivesS, isForward);
      }
      let startS = Math.max(freeAtS[rank] as number, arrivesS);
      if (kind === PAIRED_FORWARD) startS = Math.max(startS, gradientAtS[cells[i + 1] as number] as number);
      if ((startedAtS[rank] as number) < 0) startedAtS[rank] = startS;
      let endS = startS;
      let sentAtS = startS;
      if (isForward) {
        endS += forwardS[stage] as number;
        if (listened) this.ran(FORWARD, i, startS, endS);
        held[rank] = (held[rank] as number) + 1;
      }
      if (kind !== FORWARD) {
        const at = kind === PAIRED_FORWARD ? ++i : i;
        const returning = stages[at] as number;
        const backwardFromS = endS;
        endS += backwardInputS[returning] as number;
        if (kind === BACKWARD_INPUT) {
          owed[lastOwed[rank] as number] = at;
          lastOwed[rank] = (lastOwed[rank] as number) + 1;
          held[rank] = (held[rank] as number) - freedByInput;
        } else {
          endS += backwardWeightS[returning] as number;
          held[rank] = (held[rank] as number) - 1;
        }
        if (listened) this.ran(kinds[at] as number, at, backwardFromS, endS);
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
      freeAtS[rank] = blocking ? Math.max(endS, sentAtS) : endS;
    }
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

  private runWeightsBefore(rank: number, arrivesS: number, isForward: boolean): void {
    while ((this.firstOwed[rank] as number) < (this.lastOwed[rank] as number)) {
      const owed = this.owed[this.firstOwed[rank] as number] as number;
      const weightS = this.input.backwardWeightS[this.sequence.stages[owed] as number] as number;
      const full = isForward && (this.held[rank] as number) + 1 > this.sequence.activationLimit + ROUNDING;
      if (!full && arrivesS - (this.freeAtS[rank] as number) <= WORTH_FILLING * weightS) return;
      this.runOldestWeight(rank);
    }
  }

  private runOldestWeight(rank: number): void {
    const at = this.firstOwed[rank] as number;
    const owed = this.owed[at] as number;
    const startS = this.freeAtS[rank] as number;
    const endS = startS + (this.input.backwardWeightS[this.sequence.stages[owed] as number] as number);
    this.firstOwed[rank] = at + 1;
    this.freeAtS[rank] = endS;
    this.held[rank] = (this.held[rank] as number) - this.weightShare;
    if (this.listener !== undefined) this.ran(BACKWARD_WEIGHT, owed, startS, endS);
  }

  private ran(kind: number, index: number, startS: number, endS: number): void {
    const { ranks, stages, cells } = this.sequence;
    const [rank, stage, cell] = [ranks[index] as number, stages[index] as number, cells[index] as number];
    this.listener?.({ kind, rank, stage, cell, startS, endS });
  }
}
