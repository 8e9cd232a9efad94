import { PROJECT_ROLES, type PrincipalKind, type ProjectRole, type Role } from '@coxswain/api-types';
import type { RequestOrigin } from './request-origin.ts';

/** A project that somebody belongs to. */
export interface Membership {
  readonly id: string;
  readonly name: string;
  readonly role: ProjectRole;
}

/**
 * The caller. `id` is the principal's, not the credential's: audit entries, idempotency keys and open streams refer to it, so they survive a rotated
 * token and an ended session. Either a cluster administrator or a member of at least one project.
 */
export interface Principal {
  readonly id: string;
  readonly kind: PrincipalKind;
  readonly name: string;
  readonly isClusterAdmin: boolean;
  /** By name; a project stands here once, with the highest role that the principal has there. Of no meaning for cluster administrators. */
  readonly memberships: readonly Membership[];
  /** Of the request that it makes now; absent: a command beside the API. */
  readonly origin?: RequestOrigin;
}

/** The only project that a principal can mean when it names none. */
export function onlyProjectOf({ isClusterAdmin, memberships }: Principal): Membership | undefined {
  return isClusterAdmin || memberships.length !== 1 ? undefined : memberships[0];
}

/** The highest role that it has anywhere. */
export function highestRoleOf({ isClusterAdmin, memberships }: Principal): Role {
  if (isClusterAdmin) return 'clusterAdmin';
  return PROJECT_ROLES.findLast((role) => memberships.some((one) => one.role === role)) ?? 'viewer';
}
