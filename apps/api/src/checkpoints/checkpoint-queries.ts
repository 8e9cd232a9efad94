import { BROKEN_VERDICTS } from '@coxswain/checkpoint';
import { CheckpointVerification } from '@coxswain/api-types';
import { z } from 'zod';
import { isUuid } from '../http/ids.ts';
import { pageQuery } from '../http/page-query.ts';
import type { CheckpointRow } from './checkpoint-record.ts';

/** Which checkpoints of a project: query parameters of REST, arguments of GraphQL. Each that is given must hold. */
export const CheckpointsQuery = z.strictObject({
  job: z.string().min(1).max(63).optional().describe('Id or name of the job that saved it. Absent: any job.'),
  name: z.string().min(1).max(253).optional().describe('Exact name of the Checkpoint.'),
  verdict: CheckpointVerification.shape.verdict
    .or(z.literal('none'))
    .optional()
    .describe('Verdict of its closest verification; none: it has no verification. Absent: any.'),
  good: z
    .stringbool()
    .default(false)
    .describe(
      'Lists only those that are complete, not suspect, not found damaged or incomplete, not absent, and not being deleted.',
    ),
  deleted: z.stringbool().default(false).describe('Lists those whose object was deleted, too.'),
  ...pageQuery,
});
export type CheckpointsQuery = z.infer<typeof CheckpointsQuery>;

/** A row with the job that it belongs to. */
export interface CatalogueRow extends CheckpointRow {
  readonly at_text: string;
  /** Null: its job is not known, or its row is gone. */
  readonly job_id: string | null;
  readonly project_id: string | null;
  readonly submitted_by: string | null;
}

/**
 * `isGood` of libs/checkpoint as a condition. A test compares both. The operator of the release before gave a complete checkpoint a message only while it was
 * suspect.
 */
const IS_GOOD = `c.deleted_at IS NULL AND c.state = 'Complete' AND NOT coalesce(c.is_suspect, c.message IS NOT NULL)
      AND coalesce(c.verification->>'verdict', '') <> ALL ('{${BROKEN_VERDICTS.join(',')}}')
      AND NOT coalesce(c.retention @> '{"isBeingDeleted": true}' OR c.retention @> '{"isAbsent": true}', false)`;

/** $1 cluster, $2 project or null. A UID is no secret: an object of another namespace that carries that of a job is somebody else’s. */
const IN_SCOPE = `
  SELECT c.uid, c.namespace, c.name, c.spec, c.state, c.message, c.verification, c.contents, c.progress, c.pin, c.retention, c.is_suspect, c.created_at, c.deleted_at,
         c.created_at::text AS at_text, j.id AS job_id, j.project_id, j.submitted_by
    FROM checkpoints c
    LEFT JOIN jobs j ON j.cluster_id = c.cluster_id AND j.uid = c.job_uid AND j.namespace = c.namespace
                    AND ($2::uuid IS NULL OR j.project_id = $2)
   WHERE c.cluster_id = $1
     AND ($2::uuid IS NULL OR c.namespace IN (SELECT n.namespace FROM project_namespaces n WHERE n.cluster_id = $1 AND n.project_id = $2))`;

/** One checkpoint; $3 its UID. */
export const ONE_CHECKPOINT = `${IN_SCOPE} AND c.uid = $3`;

/**
 * Attempts that began from a checkpoint, newest first. $1 cluster, $2 project or null, $3 namespace, $4 name of the checkpoint, $5 when it was created: an
 * earlier one of that name was another checkpoint. Times are compared as text, because the one of an attempt was not checked. $6: how many.
 */
export const USES_OF_CHECKPOINT = `
  SELECT j.id, j.name, a.epoch, a.attempt->>'startedAt' AS started_at, count(*) OVER ()::int AS total
    FROM attempts a
    JOIN jobs j ON j.cluster_id = a.cluster_id AND j.uid = a.job_uid AND ($2::uuid IS NULL OR j.project_id = $2)
   WHERE a.cluster_id = $1 AND a.attempt->'resumedFrom'->>'checkpoint' = $4 AND j.namespace = $3
     AND a.attempt->>'startedAt' >= to_char($5::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
   ORDER BY a.attempt->>'startedAt' DESC, j.id, a.epoch DESC LIMIT $6`;

/** What a list is asked for. */
export interface CatalogueFilter {
  readonly clusterId: string;
  readonly projectId: string | null;
  readonly query: Pick<CheckpointsQuery, 'job' | 'name' | 'verdict' | 'good' | 'deleted'>;
  readonly after: { readonly key: string; readonly id: string } | undefined;
  readonly rows: number;
}

/** Newest first. */
export function catalogueQuery(filter: CatalogueFilter): { readonly text: string; readonly parameters: unknown[] } {
  const { job, name, verdict, good, deleted } = filter.query;
  const parameters: unknown[] = [filter.clusterId, filter.projectId];
  const next = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = [
    ...(job === undefined ? [] : [ofJob(job, next(job))]),
    ...(name === undefined ? [] : [`c.name = ${next(name)}`]),
    ...(verdict === undefined ? [] : [`coalesce(c.verification->>'verdict', 'none') = ${next(verdict)}`]),
    ...(good ? [IS_GOOD] : []),
    ...(deleted ? [] : ['c.deleted_at IS NULL']),
    ...(filter.after === undefined
      ? []
      : [`(c.created_at, c.uid) < (${next(filter.after.key)}::timestamptz, ${next(filter.after.id)})`]),
  ];
  const where = conditions.map((condition) => `\n     AND ${condition}`).join('');
  return {
    text: `${IN_SCOPE}${where}\n   ORDER BY c.created_at DESC, c.uid DESC LIMIT ${next(filter.rows)}`,
    parameters,
  };
}

/** An index finds the name. */
function ofJob(job: string, parameter: string): string {
  const isNamed = `c.spec->>'jobName' = ${parameter}::text`;
  return isUuid(job) ? `(j.id = ${parameter}::text::uuid OR ${isNamed})` : isNamed;
}
