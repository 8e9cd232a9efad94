/** How far have the ranks of one pod come? */
import type { RunMark, SaveStop } from '@coxswain/api-types';

/** Of the incarnation that the launcher's report names. */
export interface ObservedMarks {
  /** In milliseconds since 1970, by the clock of this process. No entry: not passed, or not known. */
  readonly atMs: Readonly<Partial<Record<RunMark, number>>>;
  /** How long the ranks stood still for their newest saves; empty except in the pod of rank 0. */
  readonly saves: readonly SaveStop[];
}
