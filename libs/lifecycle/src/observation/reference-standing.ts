/** Do the objects exist that the next attempt's pods need? */
import { describeUnusable, type ObjectReference } from '@coxswain/api-types';
import type { Facts } from './facts.ts';
import { keyOf } from './references.ts';

/** An attempt begins on an answer that is at most so old. */
const FRESH_MS = 30_000;
/** A job that waits for something else reads again after this time. */
const KNOWN_MS = 300_000;
/** An unusable object is read again sooner, because a user may be about to create it. After ten minutes, that is less likely. */
const UNUSABLE_MS = { first: 10_000, longest: 60_000, shareOfWait: 0.1 } as const;

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
  const goodForMs = known.unusable.length > 0 ? unusableReadMs(facts) : isPlacing ? FRESH_MS : KNOWN_MS;
  return known.ageMs >= goodForMs;
}

/** After which time unusable objects are read again: a tenth of the time that the job has waited for them. Many jobs may wait for days. */
export function unusableReadMs({ observed: { references } }: Facts): number {
  const { unusableForMs = 0, ageMs = 0 } = references === undefined || references === 'unread' ? {} : references;
  const { first, longest, shareOfWait } = UNUSABLE_MS;
  return Math.min(longest, Math.max(first, (unusableForMs - ageMs) * shareOfWait));
}
