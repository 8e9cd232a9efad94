import type { NotFinite } from '@coxswain/api-types';

/** The figures of one step that an engine printed. Times are in milliseconds. */
export interface StepLine {
  /** Null: the engine prints none. */
  readonly step: number | null;
  readonly loss: number | null;
  readonly gradNorm: number | null;
  readonly learningRate: number | null;
  readonly stepTimeMs: number | null;
  /** The program may count its steps from 0, or in each epoch anew: the numbers of hooks take precedence. */
  readonly isOwnCount?: true;
  /** Which of them are printed, and are no finite numbers; they are null above. */
  readonly notFinite?: NotFinite;
}
