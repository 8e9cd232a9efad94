/** What a score evaluates: a predictor of time and memory. */
import { predictMemory, type MemoryPrediction, type RunFacts } from '@coxswain/planner';
import { constantsFor, predictStepTime, type Calibration } from '@coxswain/planner/calibration';

export type PredictedMemory = Pick<
  MemoryPrediction,
  'peakAllocatedBytes' | 'peakReservedBytes' | 'deviceUsedBytes' | 'verdict'
>;

export interface Predictor {
  readonly stepTimeS: (run: RunFacts) => number;
  readonly memory: (run: RunFacts) => PredictedMemory;
}

export function plannerPredictor(calibration: Calibration): Predictor {
  return {
    stepTimeS: (run) => predictStepTime(run, constantsFor(calibration, run.cluster.gpu.silicon, run.stack)).stepTimeS,
    memory: (run) => predictMemory(run),
  };
}
