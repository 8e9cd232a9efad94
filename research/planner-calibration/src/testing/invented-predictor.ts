/** A stand-in for the planner in tests: memory and verdict follow from the micro-batch alone. */
import { GIB_BYTES } from '@coxswain/units';
import type { RunFacts } from '@coxswain/planner';
import type { PredictedMemory } from '../score/predictor.ts';

/** As many GiB as samples in a micro-batch are allocated, twice as many reserved and thrice on the device; more than four do not fit. */
export function plannedMemory(run: RunFacts): PredictedMemory {
  const samples = run.candidate.microBatchSize;
  return {
    peakAllocatedBytes: samples * GIB_BYTES,
    peakReservedBytes: samples * 2 * GIB_BYTES,
    deviceUsedBytes: samples * 3 * GIB_BYTES,
    verdict: samples > 4 ? 'doesNotFit' : 'fits',
  };
}
