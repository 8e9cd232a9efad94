/** A save and a target, as the rule for loads is asked about them. */
import type { EngineName } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import type { SavedFacts } from '../read/saved-state.ts';

/** What is known of a save. */
export interface KnownSave {
  /** As a manifest, a Checkpoint object or its reader calls it. */
  readonly format: string;
  /** What its files say; absent: they were not read. */
  readonly facts?: Partial<Omit<SavedFacts, 'holds'>> & { readonly holds?: Partial<SavedFacts['holds']> };
  /** Layout of the job that saved it, as its Checkpoint object records it. */
  readonly layout?: ParallelLayout;
  readonly bytes?: number;
  /** Whether a converted copy is beside it that every layout loads. Absent: not known. */
  readonly hasUniversal?: boolean;
}

/** What is to load it. */
export interface LoadTarget {
  readonly layout: ParallelLayout;
  /** Absent: an engine that loads the format. */
  readonly engine?: EngineName;
  /** The job can go on with fewer ranks by itself. */
  readonly canShrink?: boolean;
}
