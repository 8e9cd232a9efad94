/** How long does a pipeline take over its micro-batches? The fast path of the time model: no timeline is built. */
import {
  accumulationMakespan,
  gpipeMakespan,
  interleavedMakespan,
  newScheduleScratch,
  oneForwardOneBackwardMakespan,
  type ScheduleScratch,
} from './fused-makespan.ts';
import { DomainError } from '@coxswain/domain-error';
import { assertScheduleInput, type ScheduleInput } from './schedule-input.ts';

/**
 * Seconds from the first forward to the end of the last backward pass of any rank.
 *
 * Pass one `scratch` to many calls: it holds the buffers.
 * @throws DomainError INVALID_REQUEST where the shape is impossible or an array too short.
 */
export function makespanOf(input: ScheduleInput, scratch: ScheduleScratch = newScheduleScratch()): number {
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
      throw new DomainError('INVALID_REQUEST', `schedule ${input.schedule} cannot be simulated yet: use 1f1b`);
  }
}
