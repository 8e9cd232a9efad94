/** Makespan of a schedule of very many micro-batches, from two shorter ones. */
import { stageOfRank, type ScheduleInput } from './schedule-input.ts';

/**
 * Micro-batches for each rank of the pipeline that are simulated at most; the rest repeats the rhythm of the last ones. Longer schedules differ from the
 * whole simulation by less than 0.2 % (long-schedule.spec.ts), while 65,536 samples on 64 stages took a minute. A choice.
 */
export const MOST_PER_RANK = 16;

/** Passes of one kind of a step from which a schedule is long. Below, the whole simulation takes milliseconds, and its result is exact. A choice. */
const LONG = 2 ** 18;

/** Whether the makespan of a schedule is taken from two shorter ones. */
export function isLong({ pipeline, chunks, microBatches }: ScheduleInput): boolean {
  return pipeline * chunks * microBatches > LONG && microBatches > MOST_PER_RANK * pipeline;
}

/** Simulates a schedule; if it exceeds `mostS`, the result is any value between `mostS` and the makespan. */
type Simulate = (input: ScheduleInput, mostS: number) => number;

/**
 * The makespan, whose pipeline is simulated for at most {@link MOST_PER_RANK} micro-batches a rank. Beyond these, each micro-batch takes what it took
 * in their second half, and no less than the slowest rank computes. The contract of `mostS` is that of {@link Simulate}.
 */
export function makespanOfLong(input: ScheduleInput, mostS: number, simulate: Simulate): number {
  const long = MOST_PER_RANK * input.pipeline;
  const further = input.microBatches - long;
  const leastEachS = slowestRankS(input);
  const half = long / 2;
  const seconds: number[] = [];
  for (const microBatches of [half, long]) {
    const restS = (input.microBatches - microBatches) * leastEachS;
    const takesS = simulate({ ...input, microBatches }, mostS - restS);
    if (takesS > mostS - restS) return Math.max(mostS, takesS + restS);
    seconds.push(takesS);
  }
  const [halfS = 0, longS = 0] = seconds;
  return longS + further * Math.max(leastEachS, (longS - halfS) / (long - half));
}

/** The same for a lower bound of the makespan: each micro-batch beyond the simulated ones takes what the busiest rank computes. */
export function boundOfLong(input: ScheduleInput, boundOf: (input: ScheduleInput) => number): number {
  const long = MOST_PER_RANK * input.pipeline;
  const further = input.microBatches - long;
  return boundOf({ ...input, microBatches: long }) + further * slowestRankS(input);
}

/** What the busiest rank computes for one micro-batch. */
function slowestRankS(input: ScheduleInput): number {
  const { pipeline, chunks, forwardS, backwardInputS, backwardWeightS } = input;
  let slowestS = 0;
  for (let rank = 0; rank < pipeline; rank++) {
    let passesS = 0;
    for (let chunk = 0; chunk < chunks; chunk++) {
      const stage = stageOfRank(input, rank, chunk);
      passesS += (forwardS[stage] as number) + (backwardInputS[stage] as number) + (backwardWeightS[stage] as number);
    }
    slowestS = Math.max(slowestS, passesS);
  }
  return slowestS;
}
