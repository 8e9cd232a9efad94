import { DomainError } from '@coxswain/domain-error';
import { firstOf, type Sql } from '@coxswain/persistence';
import type { Principal } from './principal.ts';
import { type Action, requireAction } from './roles.ts';

/** In place of a project’s name: every job of the cluster, those in namespaces without a project included. Administrators only. */
export const ALL_PROJECTS = '-';

/** What a request is confined to: one project, or (administrators) the whole cluster. */
export type ProjectScope =
  { readonly kind: 'project'; readonly id: string; readonly name: string } | { readonly kind: 'cluster' };

/** What every authorisation question needs. */
export interface ScopeQuestion {
  readonly clusterId: string;
  readonly principal: Principal;
  readonly project: string;
  readonly action: Action;
}

/**
 * Decides whether the principal may do `action` in the project of that name. A project of somebody else answers exactly as one that does
 * not exist, so that nothing can be learned by asking. REST and GraphQL both come through here.
 */
export async function requireScope(sql: Sql, question: ScopeQuestion): Promise<ProjectScope> {
  const { principal, project, action, clusterId } = question;
  if (principal.project !== null && principal.project.name !== project) throw noSuchProject(project);
  requireAction(principal, action);
  if (principal.project !== null) return { kind: 'project', ...principal.project };
  if (project === ALL_PROJECTS) return { kind: 'cluster' };
  const found = await sql.query<{ id: string; name: string }>(
    'SELECT id, name FROM projects WHERE cluster_id = $1 AND name = $2',
    [clusterId, project],
  );
  const row = firstOf(found);
  if (row === undefined) throw noSuchProject(project);
  return { kind: 'project', id: row.id, name: row.name };
}

/** The scope when it must be one project, as for whatever is created. */
export async function requireProject(
  sql: Sql,
  question: ScopeQuestion,
): Promise<{ readonly id: string; readonly name: string }> {
  const scope = await requireScope(sql, question);
  if (scope.kind === 'project') return scope;
  throw new DomainError(
    'INVALID_REQUEST',
    `"${ALL_PROJECTS}" stands for every project and can only be read; name one project`,
  );
}

/** The id to compare `project_id` with; null compares with nothing. */
export function projectIdOf(scope: ProjectScope): string | null {
  return scope.kind === 'project' ? scope.id : null;
}

function noSuchProject(project: string): DomainError {
  return new DomainError(
    'NOT_FOUND',
    `project ${JSON.stringify(project.slice(0, 63))} does not exist or this token does not belong to it`,
  );
}
