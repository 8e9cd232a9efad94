/** May jobs of a project name that PriorityClass? The API creates jobs with its own account, so the API server never sees the user. */
import type { TrainingJobSpec } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { firstOf, type Sql } from '@coxswain/persistence';

const POINTER = '/spec/priorityClassName';

/** INVALID_REQUEST with the classes that the project may use. */
export async function requireAllowedClass(
  sql: Sql,
  project: { readonly id: string; readonly name: string },
  { priorityClassName }: Pick<TrainingJobSpec, 'priorityClassName'>,
): Promise<void> {
  if (priorityClassName === undefined) return;
  const detail = classProblem(priorityClassName, project.name, await allowedClasses(sql, project.id));
  if (detail === undefined) return;
  throw new DomainError('INVALID_REQUEST', `priorityClassName: ${detail}`, [{ pointer: POINTER, detail }]);
}

/** Why the project may not use the class, and what to do; undefined: it may. */
export function classProblem(name: string, project: string, allowed: readonly string[]): string | undefined {
  if (allowed.includes(name)) return undefined;
  const may = allowed.length === 0 ? 'it may use none but the default' : `it may use ${allowed.join(', ')}`;
  const instead = allowed.length === 0 ? 'leave the field out' : 'name one of these, or leave the field out';
  return `project ${project} may not use PriorityClass ${name}; ${may}. ${instead[0]?.toUpperCase()}${instead.slice(1)}, or ask a cluster administrator for the class`;
}

async function allowedClasses(sql: Sql, projectId: string): Promise<readonly string[]> {
  const found = await sql.query<{ readonly priority_classes: readonly string[] }>(
    'SELECT priority_classes FROM projects WHERE id = $1',
    [projectId],
  );
  return firstOf(found)?.priority_classes ?? [];
}
