/** Do the objects exist that the next attempt's pods need? */
import { describeUnusable, type ObjectReference, type UnusableReference } from '@coxswain/api-types';
import type { Facts } from './facts.ts';

/** The last live read of the objects that a job names. */
export interface ObservedReferences {
  /** The objects that were read, as {@link keyOf} writes them. */
  readonly key: string;
  readonly ageMs: number;
  /** Those that pods cannot use. What could not be read counts as usable: its pods will show it. */
  readonly unusable: readonly UnusableReference[];
}

/** An attempt begins on an answer that is at most so old. */
const FRESH_MS = 30_000;
/** A job that waits for something else reads again after this time. */
const KNOWN_MS = 300_000;
/** An unusable object is read again sooner, because a user is about to create it. */
export const UNUSABLE_MS = 5_000;

/** What the last read shows. */
export type ReferenceStanding =
  | { readonly kind: 'usable'; readonly isFresh: boolean }
  | { readonly kind: 'unusable'; readonly message: string }
  | { readonly kind: 'unread' };

/** What is known of these objects. */
export function referenceStanding(facts: Facts, references: readonly ObjectReference[]): ReferenceStanding {
  if (references.length === 0) return { kind: 'usable', isFresh: true };
  const { observed, job } = facts;
  const known = observed.references;
  if (known === undefined) return { kind: 'usable', isFresh: true };
  if (known === 'unread' || known.key !== keyOf(references)) return { kind: 'unread' };
  const [unusable] = known.unusable;
  if (unusable === undefined) return { kind: 'usable', isFresh: known.ageMs < FRESH_MS };
  return { kind: 'unusable', message: describeUnusable(unusable, job.metadata.namespace ?? '') };
}

/** Whether they are to be read now. `isPlacing`: an attempt would begin. */
export function areReferencesDue(
  facts: Facts,
  references: readonly ObjectReference[],
  { isPlacing }: { readonly isPlacing: boolean },
): boolean {
  const known = facts.observed.references;
  if (references.length === 0 || known === undefined) return false;
  if (known === 'unread' || known.key !== keyOf(references)) return true;
  const goodForMs = known.unusable.length > 0 ? UNUSABLE_MS : isPlacing ? FRESH_MS : KNOWN_MS;
  return known.ageMs >= goodForMs;
}

/** Equal for equal objects. */
export function keyOf(references: readonly ObjectReference[]): string {
  return references.map(({ kind, name }) => `${kind}/${name}`).join(' ');
}

/** The last reads of jobs that wait. Losing this memory is harmless: a new leader reads again. Times are monotonic milliseconds. */
export class ReferenceReads {
  readonly #ofJob = new Map<
    string,
    { readonly key: string; readonly atMs: number; readonly unusable: readonly UnusableReference[] }
  >();

  /** The last read of the job's objects; undefined: there was none. */
  of(job: string, nowMs: number): ObservedReferences | undefined {
    const known = this.#ofJob.get(job);
    return known === undefined ? undefined : { key: known.key, ageMs: nowMs - known.atMs, unusable: known.unusable };
  }

  /** Records a read. */
  note(
    job: string,
    references: readonly ObjectReference[],
    about: { readonly unusable: readonly UnusableReference[]; readonly nowMs: number },
  ): void {
    this.#ofJob.set(job, { key: keyOf(references), atMs: about.nowMs, unusable: about.unusable });
  }

  /** Forgets a job that was deleted. */
  forget(job: string): void {
    this.#ofJob.delete(job);
  }

  /** Number of remembered jobs; for tests of memory. */
  get size(): number {
    return this.#ofJob.size;
  }
}
