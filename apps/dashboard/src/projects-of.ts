import type { WhoAmI } from '@coxswain/api-types';

/** Names of the projects that somebody belongs to; of an administrator of the cluster perhaps none. */
export function projectsOf({ project, memberships }: Pick<WhoAmI, 'project' | 'memberships'>): readonly string[] {
  return project === null ? memberships.map((one) => one.project) : [project];
}

/** Names of the projects in which somebody may submit jobs, who is no administrator of the cluster. */
export function submittableProjects(me: Pick<WhoAmI, 'project' | 'memberships' | 'role'>): readonly string[] {
  if (me.project !== null) return me.role === 'viewer' ? [] : [me.project];
  return me.memberships.filter(({ role }) => role !== 'viewer').map(({ project }) => project);
}
