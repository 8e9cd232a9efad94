/** A save and a target, as the rule for loads is asked about them. */
import type { EngineName } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { bytesOfDtype } from '../read/dtypes.ts';
import { type SavedFacts, volumeOf } from '../read/saved-state.ts';
import type { SaveLook } from '../verify/verify-save.ts';

/** What is known of a save. */
export interface KnownSave {
  /** As a manifest, a Checkpoint object or its reader calls it. */
  readonly format: string;
  /** What its files say; absent: they were not read. */
  readonly facts?: Partial<Omit<SavedFacts, 'holds'>> & { readonly holds?: Partial<SavedFacts['holds']> };
  /** Layout of the job that saved it, as its Checkpoint object records it. */
  readonly layout?: ParallelLayout;
  readonly bytes?: number;
  /** What is missing or damaged, as a whole sentence; absent: nothing that was found. */
  readonly problem?: string;
  /** Whether a converted copy is beside it that every layout loads. Absent: not known. */
  readonly hasUniversal?: boolean;
}

/** What is to load it. */
export interface LoadTarget {
  readonly layout: ParallelLayout;
  /** Absent: an engine that loads the format. */
  readonly engine?: EngineName;
  /** Such as `core_v0.16.1`. Absent: a new one. */
  readonly release?: string;
  /** The job can go on with fewer ranks by itself. */
  readonly canShrink?: boolean;
}

/** What a look at a save tells about it; undefined: no format was recognised. */
export function knownSave({ format, state, findings }: SaveLook): KnownSave | undefined {
  if (format === undefined) return undefined;
  const problem = findings.find(({ kind }) => kind === 'damaged' || kind === 'incomplete');
  const bytes = (state?.tensors ?? []).reduce(
    (sum, { shape, dtype }) => sum + volumeOf(shape) * (bytesOfDtype(dtype) ?? 0),
    0,
  );
  return {
    format,
    ...(state?.facts === undefined ? {} : { facts: state.facts }),
    ...(bytes > 0 && Number.isFinite(bytes) ? { bytes } : {}),
    ...(problem === undefined ? {} : { problem: problem.sentence }),
  };
}
