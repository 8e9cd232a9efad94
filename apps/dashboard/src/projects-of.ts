import type { WhoAmI } from '@coxswain/api-types';

/** Names of the projects that somebody belongs to; of an administrator of the cluster perhaps none. */
export function projectsOf({ project, memberships }: Pick<WhoAmI, 'project' | 'memberships'>): readonly string[] {
  return project === null ? memberships.map((one) => one.project) : [project];
}
