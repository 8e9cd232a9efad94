/** Makespan of a pipeline over its micro-batches, without a timeline. */
import { interleavedMakespan } from './interleaved-makespan.ts';
import { isLong, makespanOfLong } from './long-schedule.ts';
import { accumulationMakespan, gpipeMakespan, oneForwardOneBackwardMakespan } from './one-chunk-makespan.ts';
import { rankOrdersOf } from './rank-orders.ts';
import { runSchedule } from './run-schedule.ts';
import { assertScheduleInput, type ScheduleInput } from './schedule-input.ts';
import { newScheduleScratch, type ScheduleScratch } from './schedule-scratch.ts';

/**
 * Seconds that one step's passes take: the longest time between the first and the last pass of one rank. Every rank starts its next step when it
 * has finished this one (post-validation, 2401.10241, section 4); ranks that step the optimizer together would add the staggered start of
 * zero-bubble schedules.
 *
 * Pass one `scratch` to many calls: it holds the buffers and the orders of the schedules met. If the makespan
 * exceeds `mostS`, the result may be any value between `mostS` and the makespan, which is faster.
 * @throws DomainError INVALID_REQUEST if the shape is impossible or an array is too short.
 */
export function makespanOf(
  input: ScheduleInput,
  scratch: ScheduleScratch = newScheduleScratch(),
  mostS = Infinity,
): number {
  assertScheduleInput(input);
  if (input.pipeline === 1) return accumulationMakespan(input);
  switch (input.schedule) {
    case 'gpipe':
      return gpipeMakespan(input);
    case '1f1b':
      return oneForwardOneBackwardMakespan(input, scratch);
    case 'interleaved-1f1b':
      return interleavedMakespan(input, scratch);
    case 'zb-h1':
    case 'zb-2p':
    case 'zbv':
    case 'v-half':
    case 'v-min':
    case 'dualpipe-v':
      return zeroBubbleMakespan(input, scratch, mostS);
  }
}

function zeroBubbleMakespan(input: ScheduleInput, scratch: ScheduleScratch, mostS: number): number {
  const simulate = (simulated: ScheduleInput, limitS: number): number =>
    runSchedule(simulated, rankOrdersOf(simulated, scratch.cache), scratch.run, { mostS: limitS });
  return isLong(input) ? makespanOfLong(input, mostS, simulate) : simulate(input, mostS);
}
