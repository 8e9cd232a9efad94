/** How long does a pipeline take at least? For searches that drop a layout before its schedule is simulated. */
import { stageOfRank, type ScheduleInput } from './schedule-input.ts';

/**
 * Lower bound of `makespanOf`, in time linear in the stages: every rank computes all its passes. Where the backward is fused, it starts
 * them when the first micro-batch has come down to it, and its last gradient must go back up; that is exact for even stages whose messages
 * take no time.
 */
export function makespanLowerBound(input: ScheduleInput): number {
  const { schedule, pipeline, chunks, microBatches } = input;
  const fused = schedule === 'gpipe' || schedule === '1f1b' || schedule === 'interleaved-1f1b';
  let boundS = 0;
  let aboveS = 0;
  for (let rank = 0; rank < pipeline; rank++) {
    let busyS = 0;
    for (let chunk = 0; chunk < chunks; chunk++) busyS += passesS(input, stageOfRank(input, rank, chunk));
    boundS = Math.max(boundS, microBatches * busyS + (fused ? aboveS : 0));
    aboveS += passesS(input, rank) + (input.forwardHopS[rank] as number) + (input.backwardHopS[rank] as number);
  }
  return boundS;
}

function passesS({ forwardS, backwardInputS, backwardWeightS }: ScheduleInput, stage: number): number {
  return (forwardS[stage] as number) + (backwardInputS[stage] as number) + (backwardWeightS[stage] as number);
}
