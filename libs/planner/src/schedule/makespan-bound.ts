/** How long does a pipeline take at least? For searches that drop a layout before its schedule is simulated. */
import { isVShaped } from '../stages.ts';
import { activationLimit } from './pass-order.ts';
import type { ScheduleInput } from './schedule-input.ts';

/**
 * Lower bound of `makespanOf`, in time linear in the stages: every rank computes all its passes. Where the backward is fused, it starts
 * them when the first micro-batch has come down to it, and its last gradient must go back up; that is exact for even stages whose messages
 * take no time. Where it is split, the first rank bounds it further: see `firstRankBoundS`.
 */
export function makespanLowerBound(input: ScheduleInput): number {
  const { schedule, pipeline, chunks, microBatches } = input;
  const fused = schedule === 'gpipe' || schedule === '1f1b' || schedule === 'interleaved-1f1b';
  const folded = isVShaped(schedule);
  let boundS = 0;
  let aboveS = 0;
  for (let rank = 0; rank < pipeline; rank++) {
    let busyS = 0;
    for (let chunk = 0; chunk < chunks; chunk++) {
      const along = folded && chunk % 2 === 1 ? pipeline - 1 - rank : rank;
      busyS += passesS(input, chunk * pipeline + along);
    }
    boundS = Math.max(boundS, microBatches * busyS + (fused ? aboveS : 0));
    aboveS += passesS(input, rank) + (input.forwardHopS[rank] as number) + (input.backwardHopS[rank] as number);
  }
  return fused || pipeline === 1 ? boundS : Math.max(boundS, firstRankBoundS(input, folded));
}

/**
 * The first rank takes in at most K micro-batches before it sends one out, and the first gradient of a micro-batch is back after a whole round
 * trip of R seconds. So it idles unless what it may do meanwhile fills R, and no step is shorter than m round trips of which K go on at a time.
 */
function firstRankBoundS(input: ScheduleInput, folded: boolean): number {
  const { pipeline, chunks, microBatches } = input;
  const last = pipeline * chunks - 1;
  let roundTripS = 0;
  for (let stage = 0; stage <= last; stage++) {
    roundTripS += input.forwardS[stage] as number;
    if (stage > 0) roundTripS += input.backwardInputS[stage] as number;
    const staysOnRank = folded && stage % pipeline === pipeline - 1;
    if (stage < last && !staysOnRank) {
      roundTripS += (input.forwardHopS[stage] as number) + (input.backwardHopS[stage] as number);
    }
  }
  const inFlight = Math.min(microBatches, limitOf(input));
  const ownS = folded ? passesS(input, last) : 0;
  const firstS = input.forwardS[0] as number;
  const idleS = roundTripS - inFlight * (firstS + ownS);
  const busyS = microBatches * (passesS(input, 0) + ownS);
  return Math.max(busyS + Math.max(0, idleS), (microBatches * (roundTripS - firstS)) / inFlight);
}

/** DualPipeV fills the pipeline with two micro-batches per rank and one more. */
function limitOf(input: ScheduleInput): number {
  return input.schedule === 'dualpipe-v' ? 2 * input.pipeline + 1 : activationLimit(input);
}

function passesS({ forwardS, backwardInputS, backwardWeightS }: ScheduleInput, stage: number): number {
  return (forwardS[stage] as number) + (backwardInputS[stage] as number) + (backwardWeightS[stage] as number);
}
