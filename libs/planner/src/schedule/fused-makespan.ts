/**
 * How long do the schedules with a fused backward pass take: GPipe, 1F1B and interleaved 1F1B?
 *
 * All ranks advance together in waves chosen so that a pass depends on its own rank and on the wave before only. A wave is then one
 * sweep over the ranks, without a queue and without stored orders. Once the ranks finish a wave exactly as they finished an earlier
 * one, a constant later, every further wave repeats that (a max-plus linear system commutes with adding a constant), so whole periods
 * are skipped. Times are compared within 1e-12 of the time passed: a skipped run differs from a full one by at most the number of
 * skipped periods times that.
 */
import type { ScheduleInput, ScheduleShape } from './schedule-input.ts';

/** Buffers that makespans are computed in; grows to the largest schedule seen. Not shared between concurrent callers. */
export interface ScheduleScratch {
  numbers: Float64Array;
  chunks: Int16Array;
}

export function newScheduleScratch(): ScheduleScratch {
  return { numbers: new Float64Array(0), chunks: new Int16Array(0) };
}

const SAME = 1e-12;

/** No pipeline: one rank runs every pass of every micro-batch. */
export function accumulationMakespan(input: ScheduleInput): number {
  let perMicroBatchS = 0;
  for (let stage = 0; stage < input.chunks; stage++) {
    perMicroBatchS += at(input.forwardS, stage) + at(input.backwardInputS, stage) + at(input.backwardWeightS, stage);
  }
  return input.microBatches * perMicroBatchS;
}

/**
 * All forwards, then all backwards: each half is a flow shop of identical jobs, whose makespan is one job plus, for every further one,
 * the slowest machine. Exact also for uneven stages: no rank is still in forwards when its first gradient arrives.
 */
export function gpipeMakespan(input: ScheduleInput): number {
  const last = input.pipeline - 1;
  const blocking = input.p2p === 'blocking';
  let oneS = 0;
  let slowestForwardS = 0;
  let slowestBackwardS = 0;
  for (let stage = 0; stage <= last; stage++) {
    const sendS = stage < last ? at(input.forwardHopS, stage) : 0;
    const returnS = stage > 0 ? at(input.backwardHopS, stage - 1) : 0;
    const forwardS = at(input.forwardS, stage);
    const backwardS = at(input.backwardInputS, stage) + at(input.backwardWeightS, stage);
    oneS += forwardS + sendS + backwardS + returnS;
    slowestForwardS = Math.max(slowestForwardS, blocking ? forwardS + sendS : forwardS);
    slowestBackwardS = Math.max(slowestBackwardS, blocking ? backwardS + returnS : backwardS);
  }
  return oneS + (input.microBatches - 1) * (slowestForwardS + slowestBackwardS);
}

/** Wave i: rank k runs the forward of micro-batch i, then the backward of i - (pipeline - 1 - k). */
export function oneForwardOneBackwardMakespan(
  input: ScheduleInput,
  scratch: ScheduleScratch,
  skipPeriods = true,
): number {
  const { pipeline, microBatches, forwardS, backwardInputS, backwardWeightS, forwardHopS, backwardHopS } = input;
  const last = pipeline - 1;
  const blocking = input.p2p === 'blocking';
  const numbers = numbersOf(scratch, 3 * pipeline);
  const freeAtS = numbers.subarray(0, pipeline);
  const gradientAtS = numbers.subarray(pipeline, 2 * pipeline);
  const seenS = numbers.subarray(2 * pipeline, 3 * pipeline);
  freeAtS.fill(0);
  let seenWave = -1;
  let nextSeen = 1;
  for (let wave = 0; wave < microBatches + last; wave++) {
    let inputAtS = 0;
    for (let rank = 0; rank < pipeline; rank++) {
      let nowS = at(freeAtS, rank);
      if (wave < microBatches) {
        nowS = Math.max(nowS, inputAtS) + at(forwardS, rank);
        inputAtS = rank < last ? nowS + at(forwardHopS, rank) : nowS;
        if (blocking) nowS = inputAtS;
      }
      const returning = wave - (last - rank);
      if (returning >= 0 && returning < microBatches) {
        if (rank < last) nowS = Math.max(nowS, at(gradientAtS, rank + 1));
        nowS += at(backwardInputS, rank) + at(backwardWeightS, rank);
        const arrivesS = rank > 0 ? nowS + at(backwardHopS, rank - 1) : nowS;
        gradientAtS[rank] = arrivesS;
        if (blocking) nowS = arrivesS;
      }
      freeAtS[rank] = nowS;
    }
    if (!skipPeriods || wave < last || wave >= microBatches - 1) continue;
    const periodS = seenWave < 0 ? Number.NaN : shiftBetween(seenS, freeAtS, pipeline);
    if (periodS >= 0) {
      const periods = Math.floor((microBatches - 1 - wave) / (wave - seenWave));
      wave += periods * (wave - seenWave);
      add(freeAtS, periods * periodS, pipeline);
      add(gradientAtS, periods * periodS, pipeline);
      skipPeriods = false;
    } else if (seenWave < 0 || wave - seenWave >= nextSeen) {
      if (seenWave >= 0) nextSeen *= 2;
      seenS.set(freeAtS);
      seenWave = wave;
    }
  }
  return largest(freeAtS, pipeline);
}

/** Micro-batches that one chunk takes in a row: at least one per rank, or a rank would wait for itself. */
export function interleavingGroup(input: ScheduleShape): number {
  return Math.max(input.pipeline, Math.min(input.groupSize ?? input.pipeline, input.microBatches));
}

/**
 * Which chunk is the j-th forward of every rank on (the j-th backward is on the mirrored chunk), over all groups of micro-batches.
 * A last group shorter than the pipeline is filled up with micro-batches that do not exist, marked -1: their passes take no time.
 */
export function chunkOrder(shape: ScheduleShape, scratch: ScheduleScratch): Int16Array {
  const { pipeline, chunks, microBatches } = shape;
  const group = interleavingGroup(shape);
  const rest = microBatches % group;
  const lastGroup = rest === 0 ? 0 : Math.max(rest, pipeline);
  const total = (microBatches - rest + lastGroup) * chunks;
  if (scratch.chunks.length < total) scratch.chunks = new Int16Array(total);
  const order = scratch.chunks;
  let next = 0;
  for (let first = 0; first < microBatches; first += group) {
    const width = first + group <= microBatches ? group : lastGroup;
    for (let chunk = 0; chunk < chunks; chunk++) {
      for (let i = 0; i < width; i++) order[next++] = first + i < microBatches ? chunk : -1;
    }
  }
  return order.subarray(0, total);
}

/**
 * Megatron's order. Rank k warms up with 2 * (pipeline - 1 - k) + (chunks - 1) * group forwards, then alternates.
 * Wave w: rank k runs its forward number w - k, then its backward number w - w0 + k, with w0 = 2 * (pipeline - 1) + (chunks - 1) * group.
 */
export function interleavedMakespan(input: ScheduleInput, scratch: ScheduleScratch, skipPeriods = true): number {
  const { pipeline, chunks, microBatches, forwardS, backwardInputS, backwardWeightS, forwardHopS, backwardHopS } =
    input;
  const last = pipeline - 1;
  const blocking = input.p2p === 'blocking';
  const group = interleavingGroup(input);
  const order = chunkOrder(input, scratch);
  const total = order.length;
  const period = group * chunks;
  const regular = Math.floor(microBatches / group) * period;
  const irregularGroup = (total - regular) / chunks;
  const firstBackward = 2 * last + (chunks - 1) * group;
  const numbers = numbersOf(scratch, 5 * pipeline + 2 * total);
  const stateS = numbers.subarray(0, 3 * pipeline);
  const freeAtS = numbers.subarray(0, pipeline);
  const inputAtS = numbers.subarray(pipeline, 2 * pipeline);
  const gradientAtS = numbers.subarray(2 * pipeline, 3 * pipeline);
  const seenS = numbers.subarray(3 * pipeline, 5 * pipeline);
  const wrappedInputAtS = numbers.subarray(5 * pipeline, 5 * pipeline + total);
  const wrappedGradientAtS = numbers.subarray(5 * pipeline + total, 5 * pipeline + 2 * total);
  stateS.fill(0);
  const history = group - last;
  let seenWave = -1;
  let nextSeen = period;
  for (let wave = 0; wave < total + firstBackward; wave++) {
    let passedOnAtS = 0;
    for (let rank = 0; rank < pipeline; rank++) {
      let nowS = at(freeAtS, rank);
      const receivedAtS = passedOnAtS;
      const forward = wave - rank;
      const chunk = forward >= 0 && forward < total ? at(order, forward) : -1;
      passedOnAtS = at(inputAtS, rank);
      if (chunk >= 0) {
        const stage = chunk * pipeline + rank;
        if (rank > 0) nowS = Math.max(nowS, receivedAtS);
        else if (chunk > 0)
          nowS = Math.max(nowS, at(wrappedInputAtS, forward - (forward < regular ? group : irregularGroup)));
        nowS += at(forwardS, stage);
        const arrivesS = rank < last || chunk < chunks - 1 ? nowS + at(forwardHopS, stage) : nowS;
        if (rank < last) inputAtS[rank] = arrivesS;
        else wrappedInputAtS[forward] = arrivesS;
        if (blocking) nowS = arrivesS;
      }
      const backward = wave - firstBackward + rank;
      const mirrored = backward >= 0 && backward < total ? at(order, backward) : -1;
      if (mirrored >= 0) {
        const stage = (chunks - 1 - mirrored) * pipeline + rank;
        if (rank < last) nowS = Math.max(nowS, at(gradientAtS, rank + 1));
        else if (mirrored > 0)
          nowS = Math.max(nowS, at(wrappedGradientAtS, backward - (backward < regular ? group : irregularGroup)));
        nowS += at(backwardInputS, stage) + at(backwardWeightS, stage);
        const arrivesS = stage > 0 ? nowS + at(backwardHopS, stage - 1) : nowS;
        if (rank > 0) gradientAtS[rank] = arrivesS;
        else wrappedGradientAtS[backward] = arrivesS;
        if (blocking) nowS = arrivesS;
      }
      freeAtS[rank] = nowS;
    }
    const steadyWaves = wave - firstBackward - group;
    if (!skipPeriods || steadyWaves < 0 || wave >= regular - 1 || steadyWaves % period !== 0) continue;
    const passed = wave - seenWave;
    const periodS = seenWave < 0 ? Number.NaN : shiftBetween(seenS, stateS, 2 * pipeline);
    const forwardFrom = wave + 1 - group;
    const backwardFrom = forwardFrom + last - firstBackward;
    if (
      periodS >= 0 &&
      repeats(wrappedInputAtS, { from: forwardFrom, length: history, lag: passed, shiftS: periodS }) &&
      repeats(wrappedGradientAtS, { from: backwardFrom, length: history, lag: passed, shiftS: periodS })
    ) {
      const periods = Math.floor((regular - 1 - wave) / passed);
      const jump = periods * passed;
      add(stateS, periods * periodS, 3 * pipeline);
      copyOn(wrappedInputAtS, { from: forwardFrom, length: history, lag: jump, shiftS: periods * periodS });
      copyOn(wrappedGradientAtS, { from: backwardFrom, length: history, lag: jump, shiftS: periods * periodS });
      wave += jump;
      skipPeriods = false;
    } else if (seenWave < 0 || passed >= nextSeen) {
      if (seenWave >= 0) nextSeen *= 2;
      seenS.set(stateS.subarray(0, 2 * pipeline));
      seenWave = wave;
    }
  }
  return largest(freeAtS, pipeline);
}

interface Stretch {
  readonly from: number;
  readonly length: number;
  readonly lag: number;
  readonly shiftS: number;
}

function repeats(timesS: Float64Array, { from, length, lag, shiftS }: Stretch): boolean {
  for (let i = from; i < from + length; i++) {
    if (Math.abs(at(timesS, i) - at(timesS, i - lag) - shiftS) > SAME * at(timesS, i)) return false;
  }
  return true;
}

/** Backwards, because source and target may overlap. */
function copyOn(timesS: Float64Array, { from, length, lag, shiftS }: Stretch): void {
  for (let i = from + length - 1; i >= from; i--) timesS[i + lag] = at(timesS, i) + shiftS;
}

/** The constant by which all of `laterS` lies behind `earlierS`; NaN where there is none. */
function shiftBetween(earlierS: Float64Array, laterS: Float64Array, length: number): number {
  const shiftS = at(laterS, 0) - at(earlierS, 0);
  for (let i = 1; i < length; i++) {
    if (Math.abs(at(laterS, i) - at(earlierS, i) - shiftS) > SAME * at(laterS, i)) return Number.NaN;
  }
  return shiftS;
}

function add(timesS: Float64Array, shiftS: number, length: number): void {
  for (let i = 0; i < length; i++) timesS[i] = at(timesS, i) + shiftS;
}

function largest(timesS: Float64Array, length: number): number {
  let largestS = 0;
  for (let i = 0; i < length; i++) largestS = Math.max(largestS, at(timesS, i));
  return largestS;
}

function numbersOf(scratch: ScheduleScratch, length: number): Float64Array {
  if (scratch.numbers.length < length) scratch.numbers = new Float64Array(2 * length);
  return scratch.numbers;
}

/** Indices come from loops over the array's own length: a missing entry cannot happen, and a check would cost a tenth of the run. */
function at(values: Float64Array | Int16Array, index: number): number {
  return values[index] as number;
}
