/** Makespan of interleaved 1F1B, with several chunks per rank. */
import { forEachInterleaved, interleavedWarmUp } from './pass-order.ts';
import { addToAll, copyStretch, latest, RepeatingWaves, stretchRepeats } from './repeating-waves.ts';
import type { ScheduleInput } from './schedule-input.ts';
import { chunksOf, numbersOf, type ScheduleScratch } from './schedule-scratch.ts';

/**
 * Megatron-LM's order. Wave w: rank k runs its forward number w - k, then its backward number w - warmUp(0) + k. Both wait for the wave
 * before at most, as a group has no fewer micro-batches than the pipeline has ranks; chunks change over at the ends of the pipeline,
 * whose times are recorded by number.
 *
 * @param skipPeriods false simulates every wave; the result is the same
 */
export function interleavedMakespan(input: ScheduleInput, scratch: ScheduleScratch, skipPeriods = true): number {
  const { pipeline, chunks, microBatches, forwardS, backwardInputS, backwardWeightS, forwardHopS, backwardHopS } =
    input;
  const last = pipeline - 1;
  const blocking = input.p2p === 'blocking';
  const { order, total } = chunkOrder(input, scratch);
  const period = pipeline * chunks;
  const regular = Math.floor(microBatches / pipeline) * period;
  const warmUp = interleavedWarmUp(input, 0);
  const numbers = numbersOf(scratch, 5 * pipeline + 2 * total);
  const clocksS = numbers.subarray(0, 3 * pipeline).fill(0);
  const freeAtS = clocksS.subarray(0, pipeline);
  const inputAtS = clocksS.subarray(pipeline, 2 * pipeline);
  const gradientAtS = clocksS.subarray(2 * pipeline);
  const waves = new RepeatingWaves(numbers.subarray(3 * pipeline, 5 * pipeline));
  const forwardEndAtS = numbers.subarray(5 * pipeline, 5 * pipeline + total);
  const backwardEndAtS = numbers.subarray(5 * pipeline + total, 5 * pipeline + 2 * total);
  let skipping = skipPeriods;
  for (let wave = 0; wave < total + warmUp; wave++) {
    let sentAtS = 0;
    for (let rank = 0; rank < pipeline; rank++) {
      let nowS = freeAtS[rank] as number;
      const receivedAtS = sentAtS;
      sentAtS = inputAtS[rank] as number;
      const forward = wave - rank;
      const chunk = forward >= 0 && forward < total ? (order[forward] as number) : ABSENT;
      if (chunk !== ABSENT) {
        const stage = chunk * pipeline + rank;
        if (rank > 0) nowS = Math.max(nowS, receivedAtS);
        else if (chunk > 0) nowS = Math.max(nowS, forwardEndAtS[forward - pipeline] as number);
        nowS += forwardS[stage] as number;
        const arrivesS = rank < last || chunk < chunks - 1 ? nowS + (forwardHopS[stage] as number) : nowS;
        inputAtS[rank] = arrivesS;
        if (rank === last) forwardEndAtS[forward] = arrivesS;
        if (blocking) nowS = arrivesS;
      }
      const backward = wave - warmUp + rank;
      const mirrored = backward >= 0 && backward < total ? (order[backward] as number) : ABSENT;
      if (mirrored !== ABSENT) {
        const stage = (chunks - 1 - mirrored) * pipeline + rank;
        if (rank < last) nowS = Math.max(nowS, gradientAtS[rank + 1] as number);
        else if (mirrored > 0) nowS = Math.max(nowS, backwardEndAtS[backward - pipeline] as number);
        else nowS = Math.max(nowS, forwardEndAtS[backward + (chunks - 1) * pipeline] as number);
        nowS += (backwardInputS[stage] as number) + (backwardWeightS[stage] as number);
        const arrivesS = stage > 0 ? nowS + (backwardHopS[stage - 1] as number) : nowS;
        gradientAtS[rank] = arrivesS;
        if (rank === 0) backwardEndAtS[backward] = arrivesS;
        if (blocking) nowS = arrivesS;
      }
      freeAtS[rank] = nowS;
    }
    const steadyWaves = wave - warmUp - pipeline;
    const steadyLeft = regular - 1 - wave;
    if (!skipping || steadyLeft <= 0 || steadyWaves < 0 || steadyWaves % period !== 0) continue;
    const forwards = { from: wave + 1 - pipeline, length: 1 };
    const backwards = { from: wave - warmUp, length: 1 };
    if (
      waves.repeats(wave, clocksS) &&
      stretchRepeats(forwardEndAtS, forwards, waves.lag, waves.shiftS) &&
      stretchRepeats(backwardEndAtS, backwards, waves.lag, waves.shiftS)
    ) {
      const periods = Math.floor(steadyLeft / waves.lag);
      const shiftS = periods * waves.shiftS;
      addToAll(clocksS, shiftS);
      copyStretch(forwardEndAtS, forwards, periods * waves.lag, shiftS);
      copyStretch(backwardEndAtS, backwards, periods * waves.lag, shiftS);
      wave += periods * waves.lag;
      skipping = false;
    } else {
      waves.moveOn(wave, clocksS);
    }
  }
  return latest(freeAtS);
}

const ABSENT = -1;

/** Chunk of every rank's j-th forward, {@link ABSENT} for micro-batches that only fill up the last group. */
function chunkOrder(input: ScheduleInput, scratch: ScheduleScratch): { order: Int16Array; total: number } {
  const longest = (input.microBatches + input.pipeline) * input.chunks;
  const order = chunksOf(scratch, longest);
  let total = 0;
  forEachInterleaved(input, (chunk, microBatch) => {
    order[total++] = microBatch < input.microBatches ? chunk : ABSENT;
  });
  return { order, total };
}
