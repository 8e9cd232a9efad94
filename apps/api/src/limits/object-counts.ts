import { firstOf, type Sql } from '@coxswain/persistence';
import { IS_GONE } from '../infrastructure/gone-jobs.ts';

/** What a project can have many of. */
export type Made = 'jobs' | 'endedJobs' | 'layouts' | 'tokens' | 'webhooks';
/** What is counted of a project: what it makes, and what is kept of it. */
type Counted = Made | 'storedPlans' | 'jobRecords';

/** In the order of the answer. */
export const COUNTED = ['jobs', 'endedJobs', 'layouts', 'tokens', 'webhooks', 'storedPlans', 'jobRecords'] as const;

/** Counts no further than the limit, so that a project with many costs no more. */
const COUNTS: Readonly<Record<Counted, string>> = {
  jobs: 'SELECT 1 FROM jobs WHERE project_id = $1 AND finished_at IS NULL AND deleted_at IS NULL LIMIT $2',
  endedJobs:
    "SELECT 1 FROM jobs WHERE project_id = $1 AND finished_at IS NOT NULL AND deleted_at IS NULL AND state <> 'Refused' LIMIT $2",
  layouts: 'SELECT 1 FROM layouts WHERE project_id = $1 LIMIT $2',
  tokens:
    'SELECT 1 FROM api_tokens WHERE project_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) LIMIT $2',
  webhooks: 'SELECT 1 FROM webhooks WHERE project_id = $1 LIMIT $2',
  storedPlans: 'SELECT 1 FROM plans WHERE project_id = $1 LIMIT $2',
  jobRecords: `SELECT 1 FROM jobs WHERE project_id = $1 AND ${IS_GONE} LIMIT $2`,
};

/** How many a project has, up to `most`. */
export async function countUpTo(
  most: number,
  sql: Sql,
  { id, what }: { readonly id: string; readonly what: Counted },
): Promise<number> {
  const counting = `SELECT count(*)::integer AS n FROM (${COUNTS[what]}) AS counted`;
  return firstOf(await sql.query<{ n: number }>(counting, [id, most]))?.n ?? 0;
}
