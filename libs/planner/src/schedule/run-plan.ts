/** When does every pass of a plan start and end? One sweep over the list: a pass starts when its rank is free and its message has come. */
import { BACKWARD, BACKWARD_WEIGHT, FORWARD, PAIRED_FORWARD } from './pass-order.ts';
import type { PassPlan } from './pass-plan.ts';
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

/**
 * Makespan in seconds, see `makespanOf`. `listener` is told of every pass, in the order of its rank.
 *
 * Weight passes that wait for a place run where their rank would idle, where a forward would exceed the plan's limit of activations,
 * and at the end. That choice depends on the times, so a schedule with such passes may get longer by a little when a pass gets shorter.
 */
export function runPlan(
  input: ScheduleInput,
  plan: PassPlan,
  buffers: RunBuffers,
  listener?: (run: PassRun) => void,
): number {
  const { pipeline, microBatches, forwardS, backwardInputS, backwardWeightS, turnaroundS = 0 } = input;
  const { kinds, stages, cells, ranks, activationLimit } = plan;
  const lastStage = pipeline * input.chunks - 1;
  const weightShare = plan.limitKnowsWeightShare ? (input.weightShare ?? 1) : 1;
  const blocking = input.p2p === 'blocking';
  const { startedAtS, freeAtS, held, inputAtS, gradientAtS, owed, firstOwed, lastOwed } = clocksOf(input, buffers);

  const ran = (kind: number, index: number, startS: number, endS: number): void => {
    if (listener === undefined) return;
    listener({
      kind,
      rank: ranks[index] as number,
      stage: stages[index] as number,
      cell: cells[index] as number,
      startS,
      endS,
    });
  };

  const runOldestWeight = (rank: number): void => {
    const index = owed[firstOwed[rank] as number] as number;
    const startS = freeAtS[rank] as number;
    const endS = startS + (backwardWeightS[stages[index] as number] as number);
    firstOwed[rank] = (firstOwed[rank] as number) + 1;
    freeAtS[rank] = endS;
    held[rank] = (held[rank] as number) - weightShare;
    ran(BACKWARD_WEIGHT, index, startS, endS);
  };

  const runWeightsBefore = (rank: number, arrivesS: number, isForward: boolean): void => {
    while ((firstOwed[rank] as number) < (lastOwed[rank] as number)) {
      const weightS = backwardWeightS[stages[owed[firstOwed[rank] as number] as number] as number] as number;
      const full = isForward && (held[rank] as number) + 1 > activationLimit + 1e-9;
      if (!full && arrivesS - (freeAtS[rank] as number) <= WORTH_FILLING * weightS) return;
      runOldestWeight(rank);
    }
  };

  /** Both say when the message has arrived. */
  const sendForward = (stage: number, cell: number, endS: number): number => {
    if (stage === lastStage) {
      gradientAtS[cell] = endS + turnaroundS;
      return endS;
    }
    const arrivesS = endS + hopS(plan, input.forwardHopS, stage);
    inputAtS[cell + microBatches] = arrivesS;
    return arrivesS;
  };
  const sendBackward = (stage: number, cell: number, endS: number): number => {
    if (stage === 0) return endS;
    const arrivesS = endS + hopS(plan, input.backwardHopS, stage - 1);
    gradientAtS[cell - microBatches] = arrivesS;
    return arrivesS;
  };

  for (let i = 0; i < kinds.length; i++) {
    const kind = kinds[i] as number;
    const rank = ranks[i] as number;
    const stage = stages[i] as number;
    const cell = cells[i] as number;
    if (kind === BACKWARD_WEIGHT) {
      runOldestWeight(rank);
      continue;
    }
    const isForward = kind === FORWARD || kind === PAIRED_FORWARD;
    const arrivesS = (isForward ? inputAtS[cell] : gradientAtS[cell]) as number;
    if (plan.weightsWait) runWeightsBefore(rank, arrivesS, isForward);
    let startS = Math.max(freeAtS[rank] as number, arrivesS);
    if (kind === PAIRED_FORWARD) startS = Math.max(startS, gradientAtS[cells[i + 1] as number] as number);
    if ((startedAtS[rank] as number) < 0) startedAtS[rank] = startS;
    let freeS: number;
    if (isForward) {
      held[rank] = (held[rank] as number) + 1;
      let endS = startS + (forwardS[stage] as number);
      ran(FORWARD, i, startS, endS);
      if (kind === PAIRED_FORWARD) {
        const backwardStartS = endS;
        const partner = stages[++i] as number;
        endS += (backwardInputS[partner] as number) + (backwardWeightS[partner] as number);
        held[rank] = (held[rank] as number) - 1;
        ran(BACKWARD, i, backwardStartS, endS);
        freeS = Math.max(sendForward(stage, cell, endS), sendBackward(partner, cells[i] as number, endS));
      } else {
        freeS = sendForward(stage, cell, endS);
      }
      freeAtS[rank] = blocking ? freeS : endS;
    } else {
      let endS = startS + (backwardInputS[stage] as number);
      if (kind === BACKWARD) {
        endS += backwardWeightS[stage] as number;
        held[rank] = (held[rank] as number) - 1;
      } else {
        owed[lastOwed[rank] as number] = i;
        lastOwed[rank] = (lastOwed[rank] as number) + 1;
        held[rank] = (held[rank] as number) - (1 - weightShare);
      }
      ran(kind, i, startS, endS);
      freeS = sendBackward(stage, cell, endS);
      freeAtS[rank] = blocking ? freeS : endS;
    }
  }
  let makespanS = 0;
  for (let rank = 0; rank < pipeline; rank++) {
    while ((firstOwed[rank] as number) < (lastOwed[rank] as number)) runOldestWeight(rank);
    const fromS = input.synchronisedStep === true ? 0 : (startedAtS[rank] as number);
    makespanS = Math.max(makespanS, (freeAtS[rank] as number) - fromS);
  }
  return makespanS;
}

/** A message between two stages of one rank takes no time. */
function hopS(plan: PassPlan, hopsS: Float64Array, stage: number): number {
  return plan.rankOfStage[stage] === plan.rankOfStage[stage + 1] ? 0 : (hopsS[stage] as number);
}

/** Views into the buffers, set to the start of a step. Weight passes owed are kept as indices into the plan, a stretch per rank. */
function clocksOf({ pipeline, chunks, microBatches }: ScheduleInput, buffers: RunBuffers) {
  const perRank = chunks * microBatches;
  const cells = pipeline * perRank;
  if (buffers.times.length < 3 * pipeline + 2 * cells) buffers.times = new Float64Array(3 * pipeline + 2 * cells);
  if (buffers.cells.length < 2 * pipeline + cells) buffers.cells = new Int32Array(2 * pipeline + cells);
  const times = (from: number, length: number) => buffers.times.subarray(from, from + length);
  const clocks = {
    startedAtS: times(0, pipeline).fill(-1),
    freeAtS: times(pipeline, pipeline).fill(0),
    held: times(2 * pipeline, pipeline).fill(0),
    inputAtS: times(3 * pipeline, cells),
    gradientAtS: times(3 * pipeline + cells, cells),
    firstOwed: buffers.cells.subarray(0, pipeline),
    lastOwed: buffers.cells.subarray(pipeline, 2 * pipeline),
    owed: buffers.cells.subarray(2 * pipeline, 2 * pipeline + cells),
  };
  clocks.inputAtS.fill(0, 0, microBatches);
  for (let rank = 0; rank < pipeline; rank++) {
    clocks.firstOwed[rank] = rank * perRank;
    clocks.lastOwed[rank] = rank * perRank;
  }
  return clocks;
}
