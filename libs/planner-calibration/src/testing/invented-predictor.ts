/** A stand-in for the planner in tests: memory and verdict follow from the micro-batch alone. */
import type { RunFacts } from '@coxswain/planner';
import type { PredictedMemory } from '../score/predictor.ts';

const GIB = 2 ** 30;

/** As many GiB as samples in a micro-batch are allocated, twice as many reserved and thrice on the device; more than four do not fit. */
export function plannedMemory(run: RunFacts): PredictedMemory {
  const samples = run.layout.microBatchSize;
  return {
    peakAllocatedBytes: samples * GIB,
    peakReservedBytes: samples * 2 * GIB,
    deviceUsedBytes: samples * 3 * GIB,
    verdict: samples > 4 ? 'doesNotFit' : 'fits',
  };
}
