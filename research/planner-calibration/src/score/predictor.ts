/** What a score evaluates: a predictor of time and memory. */
import { predictMemory, type MemoryPrediction, type RunFacts } from '@coxswain/planner';
import { constantsFor, predictStepTime, type Calibration } from '@coxswain/planner/calibration';

/** Predicted bytes per GPU for each kind of peak, and whether the layout fits. */
export type PredictedMemory = Pick<
  MemoryPrediction,
  'peakAllocatedBytes' | 'peakReservedBytes' | 'deviceUsedBytes' | 'verdict'
>;

/** Predicts seconds per step and memory per GPU of a run. Both functions may throw if the model does not cover the run. */
export interface Predictor {
  readonly stepTimeS: (run: RunFacts) => number;
  readonly memory: (run: RunFacts) => PredictedMemory;
}

/** The planner's own predictor, with the constants of a calibration for the GPU and software stack of each run. */
export function plannerPredictor(calibration: Calibration): Predictor {
  return {
    stepTimeS: (run) => predictStepTime(run, constantsFor(calibration, run.cluster.gpu.silicon, run.stack)).stepTimeS,
    memory: (run) => predictMemory(run),
  };
}
