import { type DomainError, isDomainError } from '@coxswain/domain-error';
import type { Principal } from '../auth/principal.ts';
import { allows } from '../auth/roles.ts';
import type { FeedScope } from './feed-reader.ts';

/*
 * A reader of a stream that lasts hours can lose the right to it. Event streams and followed logs check the right again by these rules.
 */

/** How often it is asked whether readers may still read: a token that is revoked, or a role that goes, ends their streams. */
export const RECHECK_MS = 2_000;
/** How long readers stay connected while their right cannot be checked. */
const UNCHECKED_MS = 30_000;

/** Error codes that end the reading; other failures may be temporary. */
const REFUSALS: ReadonlySet<DomainError['code']> = new Set(['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND']);

/** What a principal may read, with the roles that it has now. */
export function mayRead(principal: Principal): (scope: FeedScope) => boolean {
  return (scope) =>
    principal.isClusterAdmin ||
    (scope.kind === 'project' &&
      principal.memberships.some(({ id, role }) => id === scope.id && allows(role, 'job.read')));
}

/** Whether a failed check ends the reading: the right is denied, or has been unknown for `uncheckedForMs`, which is too long. */
export function endsReading(error: unknown, uncheckedForMs: number): boolean {
  return (isDomainError(error) && REFUSALS.has(error.code)) || uncheckedForMs > UNCHECKED_MS;
}
