import type { JobOrder } from '@coxswain/api-types';
import type { LabelRequirement } from './label-selector.ts';

/*
 * Which rows of `jobs` does a list read, and in which order? Every form of it has an index of its own (`job-list-query.itest.ts` shows the plans). Under
 * row-level security PostgreSQL uses an index only for leakproof operators, so no operator of jsonb and no LIKE is used. Labels and the words of names
 * have tables of their own, which triggers keep up to date.
 */

/** What jobs of a list have in common. What is absent asks nothing. */
export interface JobFilter {
  readonly state?: string | undefined;
  readonly labels: readonly LabelRequirement[];
  /** Name of who made it. */
  readonly owner?: string | undefined;
  /** Each begins a word of the name. */
  readonly words: readonly string[];
}

/** In which order, and after which row. */
export interface JobPage {
  readonly orderBy: JobOrder;
  readonly isDescending: boolean;
  /** `key`: what the row has in that order, as text. */
  readonly after?: { readonly key: string; readonly id: string } | undefined;
  readonly rows: number;
}

/** Column, type of a position in it, and what a list in this order leaves out. */
const ORDERS: Record<JobOrder, { readonly column: string; readonly type: string; readonly condition?: string }> = {
  createdAt: { column: 'j.created_at', type: 'timestamptz' },
  name: { column: 'j.name COLLATE "C"', type: 'text' },
  finishedAt: { column: 'j.finished_at', type: 'timestamptz', condition: 'j.finished_at IS NOT NULL' },
};

/** Conditions on `j`, order and limit; `projectId` null: every project of the cluster. */
export function jobListQuery(
  scope: { readonly clusterId: string; readonly projectId: string | null },
  filter: JobFilter,
  page: JobPage,
): { readonly text: string; readonly parameters: readonly unknown[] } {
  const parameters: unknown[] = [];
  const value = (parameter: unknown): string => `$${parameters.push(parameter)}`;
  const { column, type, condition } = ORDERS[page.orderBy];
  const direction = page.isDescending ? 'DESC' : 'ASC';
  const isOfScope = (table: string): string => {
    const isOfCluster = `${table}.cluster_id = ${value(scope.clusterId)}`;
    return scope.projectId === null
      ? isOfCluster
      : `${isOfCluster} AND ${table}.project_id = ${value(scope.projectId)}`;
  };
  const conditions = [
    isOfScope('j'),
    filter.state === undefined ? 'j.deleted_at IS NULL' : `j.state = ${value(filter.state)}`,
    ...(filter.owner === undefined ? [] : [`j.owner = ${value(filter.owner)}`]),
    ...filter.labels.map((requirement) => labelCondition(requirement, isOfScope('l'), value)),
    ...filter.words.map(
      (word) =>
        `EXISTS (SELECT 1 FROM job_name_words w WHERE w.job_id = j.id AND ${isOfScope('w')} AND starts_with(w.word, ${value(word)}))`,
    ),
    ...(condition === undefined ? [] : [condition]),
    ...(page.after === undefined
      ? []
      : [
          `(${column}, j.id) ${page.isDescending ? '<' : '>'} (${value(page.after.key)}::${type}, ${value(page.after.id)}::uuid)`,
        ]),
  ];
  const text = `WHERE ${conditions.join('\n  AND ')}
ORDER BY ${column} ${direction}, j.id ${direction} LIMIT ${value(page.rows)}`;
  return { text, parameters };
}

function labelCondition(
  requirement: LabelRequirement,
  isOfScope: string,
  value: (parameter: unknown) => string,
): string {
  const hasKey = `SELECT 1 FROM job_labels l WHERE l.job_id = j.id AND ${isOfScope} AND l.key = ${value(requirement.key)}`;
  switch (requirement.operator) {
    case 'exists':
      return `EXISTS (${hasKey})`;
    case 'doesNotExist':
      return `NOT EXISTS (${hasKey})`;
    case 'in':
      return `EXISTS (${hasKey} AND l.value = ANY (${value(requirement.values)}::text[]))`;
    case 'notIn':
      return `NOT EXISTS (${hasKey} AND l.value = ANY (${value(requirement.values)}::text[]))`;
  }
}
