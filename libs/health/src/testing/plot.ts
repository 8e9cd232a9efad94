import type { FaultState } from './faults.ts';
import type { Random } from './random.ts';
import type { Scenario } from './scenario.ts';
import type { StepModel } from './step-program.ts';
import type { TraceSize } from './trace-size.ts';

export const REPORT_EVERY_MS = 5_000;

/** All that a trace is told from. */
export interface Plot {
  readonly scenario: Scenario;
  readonly model: StepModel;
  readonly size: TraceSize;
  readonly random: Random;
  readonly faults: FaultState;
}
