import type { LauncherState, MemorySave, TerminationCause } from '@coxswain/api-types';
import type { ObservedMarks } from './observed-marks.ts';

/** A launcher's last report about the ranks of its pod. */
export interface ObservedLauncher {
  readonly epoch: number;
  /** The newest incarnation that was assigned to it; 0 before the first. */
  readonly incarnation: number;
  readonly state: LauncherState;
  /** Cause of the failure, if the state is reaped and a rank failed by itself; absent if the ranks were ended by order. */
  readonly cause?: TerminationCause;
  readonly marks?: ObservedMarks;
  /** Saves in memory that every rank of its pod has, of a launcher that has reaped. */
  readonly memorySaves?: readonly MemorySave[];
}
