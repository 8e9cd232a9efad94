import { type DomainError, isDomainError } from '@coxswain/domain-error';
import type { Principal } from '../auth/principal.ts';
import { allows } from '../auth/roles.ts';
import type { FeedScope } from './feed-reader.ts';

/*
 * Whoever reads what goes on for hours can lose the right to it meanwhile: event streams and followed logs ask again by these rules.
 */

/** How often it is asked whether readers may still read: a token that is revoked, or a role that goes, ends their streams. */
export const RECHECK_MS = 2_000;
/** While that cannot be told, readers are borne with for so long. */
const UNCHECKED_MS = 30_000;

/** Whoever gets one of these may not read any more; everything else may pass. */
const REFUSALS: ReadonlySet<DomainError['code']> = new Set(['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND']);

/** What a principal may read, with the roles that it has now. */
export function mayRead(principal: Principal): (scope: FeedScope) => boolean {
  return (scope) =>
    principal.isClusterAdmin ||
    (scope.kind === 'project' &&
      principal.memberships.some(({ id, role }) => id === scope.id && allows(role, 'job.read')));
}

/** Whether a look that failed ends the reading: it said no, or nothing has been known for `uncheckedForMs`, too long. */
export function endsReading(error: unknown, uncheckedForMs: number): boolean {
  return (isDomainError(error) && REFUSALS.has(error.code)) || uncheckedForMs > UNCHECKED_MS;
}
