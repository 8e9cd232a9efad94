import type { Role } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import {
  firstOf,
  type NamedStatement,
  type Scope,
  type ScopedSql,
  type Sql,
  type TenantDatabase,
  type Work,
} from '@coxswain/persistence';
import { AccessDenied } from './access-denied.ts';
import type { Principal } from './principal.ts';
import { type Action, requireAction } from './roles.ts';

/** In place of a project’s name: every job of the cluster, those in namespaces without a project included. Administrators only. */
export const ALL_PROJECTS = '-';

/** What a request is confined to, one project or (administrators) the whole cluster, and as what the principal acts there. */
export type ProjectScope =
  | { readonly kind: 'project'; readonly id: string; readonly name: string; readonly role: Role }
  | { readonly kind: 'cluster'; readonly role: Role };

/** What every authorisation question needs. */
export interface ScopeQuestion {
  readonly clusterId: string;
  readonly principal: Principal;
  readonly project: string;
  readonly action: Action;
  /** What the statements cost; `list` for lists and totals. Absent: they change rows or read them by key. */
  readonly work?: Work;
}

/**
 * Decides whether the principal may do `action` in the project of that name. A project of somebody else answers exactly as one that does
 * not exist, so that nothing can be learned by asking. REST and GraphQL both come through here.
 */
export async function requireScope(sql: Sql, question: ScopeQuestion): Promise<ProjectScope> {
  const { principal, project, action, clusterId } = question;
  if (!principal.isClusterAdmin) {
    const membership = principal.memberships.find(({ name }) => name === project);
    if (membership === undefined)
      throw new AccessDenied('NOT_FOUND', noSuchProject(project), { action, project: { name: project } });
    requireAction(membership.role, action, membership);
    return { kind: 'project', ...membership };
  }
  const role = 'clusterAdmin';
  requireAction(role, action);
  if (project === ALL_PROJECTS) return { kind: 'cluster', role };
  const found = await sql.query<{ id: string; name: string }>(
    'SELECT id, name FROM projects WHERE cluster_id = $1 AND name = $2',
    [clusterId, project],
  );
  const row = firstOf(found);
  if (row === undefined) throw new DomainError('NOT_FOUND', noSuchProject(project));
  return { kind: 'project', id: row.id, name: row.name, role };
}

/** A project that a principal may do something in. */
export type AllowedProject = Extract<ProjectScope, { kind: 'project' }>;

/**
 * Runs `work` in one transaction that sees no more than the scope, if the principal may do `action` there. A refusal that needs no look at the
 * database takes no connection.
 */
export async function inScope<T>(
  database: Pick<TenantDatabase, 'within'>,
  question: ScopeQuestion,
  work: (sql: ScopedSql, scope: ProjectScope) => Promise<T>,
): Promise<T> {
  const { principal, clusterId } = question;
  const whole = scopeOf(principal, clusterId);
  if (!principal.isClusterAdmin) {
    const scope = await requireScope(NO_READ, question);
    const reach: Scope['reach'] = scope.kind === 'project' ? { kind: 'projects', ids: [scope.id] } : whole.reach;
    return database.within({ ...whole, reach }, (sql) => work(sql, scope), question.work);
  }
  const inWhole = async (sql: ScopedSql): Promise<T> => {
    const scope = await requireScope(sql, question);
    if (scope.kind === 'project') await sql.narrowTo(scope.id);
    return work(sql, scope);
  };
  return database.within(whole, inWhole, question.work);
}

/** Statements of who reads, each in a transaction of its own that sees no more than the scope. Statements that must agree with each other run in {@link inScope}. */
export async function readingScope(
  database: Pick<TenantDatabase, 'within' | 'ask'>,
  question: ScopeQuestion,
): Promise<{ readonly scope: ProjectScope; readonly sql: Sql }> {
  const { principal, clusterId } = question;
  const whole = scopeOf(principal, clusterId);
  const scope = principal.isClusterAdmin
    ? await database.within(whole, (sql) => requireScope(sql, question), 'key')
    : await requireScope(NO_READ, question);
  const seen: Scope = scope.kind === 'project' ? { ...whole, reach: { kind: 'projects', ids: [scope.id] } } : whole;
  const query: Sql['query'] = async <Row>(statement: string | NamedStatement, parameters: readonly unknown[] = []) => {
    const rows = await database.ask<Row>(seen, statement, parameters, question.work);
    return { rows, affected: rows.length };
  };
  return { scope, sql: { query } };
}

/** The same where it must be one project, as for whatever is created. */
export async function inProject<T>(
  database: Pick<TenantDatabase, 'within'>,
  question: ScopeQuestion,
  work: (sql: ScopedSql, project: AllowedProject) => Promise<T>,
): Promise<T> {
  return inScope(database, question, async (sql, scope) => {
    if (scope.kind === 'project') return work(sql, scope);
    throw new DomainError(
      'INVALID_REQUEST',
      `"${ALL_PROJECTS}" stands for every project and can only be read; name one project`,
    );
  });
}

/** All that the principal may see in the cluster, whatever it may do there. */
export function scopeOf(principal: Principal, clusterId: string): Scope {
  const { id: principalId, isClusterAdmin, memberships } = principal;
  const ids = memberships.map(({ id }) => id);
  return { clusterId, principalId, reach: isClusterAdmin ? { kind: 'cluster' } : { kind: 'projects', ids } };
}

/** A principal knows its own projects. */
const NO_READ: Sql = {
  query: () => Promise.reject(new Error('the scope of a project member is known without a read of the database')),
};

/** The id to compare `project_id` with; null compares with nothing. */
export function projectIdOf(scope: ProjectScope): string | null {
  return scope.kind === 'project' ? scope.id : null;
}

function noSuchProject(project: string): string {
  return `project ${JSON.stringify(project.slice(0, 63))} does not exist or you do not belong to it`;
}
