import { PROJECT_ROLES, type ProjectRole, type Role } from '@coxswain/api-types';
import type { Membership } from './principal.ts';

/** A role that something gives: in a project, or (id null) in the cluster. */
export interface Grant {
  readonly id: string | null;
  readonly name: string | null;
  readonly role: Role;
}

/** What grants come to: each project once, with the highest role there, by name. */
export function rightsOf(grants: readonly Grant[]): {
  readonly isClusterAdmin: boolean;
  readonly memberships: readonly Membership[];
} {
  const highest = new Map<string, Membership>();
  for (const { id, name, role } of grants) {
    if (id === null || name === null || role === 'clusterAdmin') continue;
    const known = highest.get(id);
    if (known === undefined || rankOf(role) > rankOf(known.role)) highest.set(id, { id, name, role });
  }
  const isClusterAdmin = grants.some(({ id, role }) => id === null && role === 'clusterAdmin');
  return { isClusterAdmin, memberships: [...highest.values()].sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

function rankOf(role: ProjectRole): number {
  return PROJECT_ROLES.indexOf(role);
}
