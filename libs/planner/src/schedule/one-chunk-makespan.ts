/** Makespans of schedules with one stage per rank and a fused backward pass: accumulation, GPipe, 1F1B. */
import { addToAll, latest, RepeatingWaves } from './repeating-waves.ts';
import type { ScheduleInput } from './schedule-input.ts';
import { numbersOf, type ScheduleScratch } from './schedule-scratch.ts';

/** No pipeline: one rank runs every pass of every micro-batch. */
export function accumulationMakespan(input: ScheduleInput): number {
  const { forwardS, backwardInputS, backwardWeightS } = input;
  let perMicroBatchS = 0;
  for (let stage = 0; stage < input.chunks; stage++) {
    perMicroBatchS +=
      (forwardS[stage] as number) + (backwardInputS[stage] as number) + (backwardWeightS[stage] as number);
  }
  return input.microBatches * perMicroBatchS;
}

/**
 * All forwards, then all backwards: each half is a flow shop of identical jobs, which takes one job plus, for every further one, the
 * slowest machine. Exact also for uneven stages: no rank is still in forwards when its first gradient arrives.
 */
export function gpipeMakespan(input: ScheduleInput): number {
  const { pipeline, microBatches, forwardS, backwardInputS, backwardWeightS } = input;
  const blocking = input.p2p === 'blocking';
  let oneS = 0;
  let slowestForwardS = 0;
  let slowestBackwardS = 0;
  for (let stage = 0; stage < pipeline; stage++) {
    const sendS = stage < pipeline - 1 ? (input.forwardHopS[stage] as number) : 0;
    const returnS = stage > 0 ? (input.backwardHopS[stage - 1] as number) : 0;
    const thereS = forwardS[stage] as number;
    const backS = (backwardInputS[stage] as number) + (backwardWeightS[stage] as number);
    oneS += thereS + sendS + backS + returnS;
    slowestForwardS = Math.max(slowestForwardS, blocking ? thereS + sendS : thereS);
    slowestBackwardS = Math.max(slowestBackwardS, blocking ? backS + returnS : backS);
  }
  const further = microBatches - 1;
  return oneS + further * (slowestForwardS + slowestBackwardS);
}

/**
 * 1F1B. Wave i: rank k runs the forward of micro-batch i, then the backward of i - (pipeline - 1 - k). Both wait for
 * passes of this wave on earlier ranks or of the wave before only, so a wave is one sweep over the ranks, without queue or stored order.
 *
 * @param skipPeriods false simulates every wave; the result is the same
 */
export function oneForwardOneBackwardMakespan(
  input: ScheduleInput,
  scratch: ScheduleScratch,
  skipPeriods = true,
): number {
  const { pipeline, microBatches, forwardS, backwardInputS, backwardWeightS, forwardHopS, backwardHopS } = input;
  const last = pipeline - 1;
  const blocking = input.p2p === 'blocking';
  const numbers = numbersOf(scratch, 3 * pipeline);
  const clocksS = numbers.subarray(0, 2 * pipeline).fill(0);
  const freeAtS = clocksS.subarray(0, pipeline);
  const gradientAtS = clocksS.subarray(pipeline);
  const waves = new RepeatingWaves(numbers.subarray(2 * pipeline, 3 * pipeline));
  let skipping = skipPeriods;
  for (let wave = 0; wave < microBatches + last; wave++) {
    let inputAtS = 0;
    for (let rank = 0; rank < pipeline; rank++) {
      let nowS = freeAtS[rank] as number;
      if (wave < microBatches) {
        nowS = Math.max(nowS, inputAtS) + (forwardS[rank] as number);
        if (rank < last) inputAtS = nowS + (forwardHopS[rank] as number);
        if (blocking && rank < last) nowS = inputAtS;
      }
      const returning = wave - last + rank;
      if (returning >= 0 && returning < microBatches) {
        if (rank < last) nowS = Math.max(nowS, gradientAtS[rank + 1] as number);
        nowS += (backwardInputS[rank] as number) + (backwardWeightS[rank] as number);
        const arrivesS = rank > 0 ? nowS + (backwardHopS[rank - 1] as number) : nowS;
        gradientAtS[rank] = arrivesS;
        if (blocking) nowS = arrivesS;
      }
      freeAtS[rank] = nowS;
    }
    const steadyLeft = microBatches - 1 - wave;
    if (!skipping || wave < last || steadyLeft <= 0) continue;
    if (waves.repeats(wave, freeAtS)) {
      const periods = Math.floor(steadyLeft / waves.lag);
      addToAll(clocksS, periods * waves.shiftS);
      wave += periods * waves.lag;
      skipping = false;
    } else {
      waves.moveOn(wave, freeAtS);
    }
  }
  return latest(freeAtS);
}
