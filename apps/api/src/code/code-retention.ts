import { type CodeBucket, codePathOf } from '@coxswain/api-types';
import type { CheckpointStore } from '@coxswain/checkpoint-store';
import type { Sql } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { HOUR_MS } from '@coxswain/units';
import { sweepRegularly } from '../infrastructure/regular-sweeps.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { openCodeStore } from './code-store.ts';

const AT_ONCE = 100;
/** An upload takes no longer. */
const UPLOAD_HOURS = 1;
/** A job that exists names the archive `a`. */
const IS_NAMED = `EXISTS (SELECT 1 FROM jobs j WHERE j.cluster_id = a.cluster_id AND j.namespace = a.namespace AND j.deleted_at IS NULL
                            AND j.spec->'code'->>'sha256' = a.sha256)`;

/** What a sweep needs. */
export interface CodeSweep {
  readonly database: Sql;
  readonly cluster: Cluster;
  readonly days: number;
  readonly store: Pick<CheckpointStore, 'remove'>;
}

/** Removes archives that no job names, and what is left of uploads that ended early, at the start and once an hour, until `signal` aborts. */
export async function removeUnusedCode(
  parts: Omit<CodeSweep, 'store'> & {
    readonly bucket: CodeBucket | undefined;
    readonly logger: Logger;
    /** Whether rows are what the cluster has: a job that kubectl applied during an outage has no row yet, and names an archive. */
    readonly areRowsCurrent: () => boolean;
  },
  signal: AbortSignal,
): Promise<void> {
  const { bucket, logger, areRowsCurrent } = parts;
  const store = bucket && (await openCodeStore(bucket));
  const sweep = async (): Promise<boolean> => {
    if (store === undefined || !areRowsCurrent()) return false;
    const removed = await removeSomeUnusedCode({ ...parts, store });
    if (removed > 0) logger.info({ removed }, 'removed archives of code that no job names');
    return removed === AT_ONCE;
  };
  await sweepRegularly(
    { everyMs: HOUR_MS, sweep, logger, failed: 'archives of code were not removed; trying later' },
    signal,
  );
}

/**
 * Removes some, and gives how many. A row is marked before its object goes and deleted after that: a job that names the archive before the mark keeps it, and one
 * that comes later is refused. What a crash leaves marked is removed by the next sweep.
 */
export async function removeSomeUnusedCode({ database, cluster, days, store }: CodeSweep): Promise<number> {
  // A job that kubectl applied has touched nothing.
  await database.query(
    `UPDATE code_archives a SET used_at = now()
      WHERE a.cluster_id = $1 AND a.removed_at IS NULL AND a.uploaded_at IS NOT NULL AND a.used_at < now() - interval '30 minutes'
        AND ${IS_NAMED}`,
    [cluster.id],
  );
  await database.query(
    `UPDATE code_archives SET removed_at = now()
      WHERE (cluster_id, project_id, namespace, sha256) IN (
        SELECT a.cluster_id, a.project_id, a.namespace, a.sha256 FROM code_archives a
         WHERE a.cluster_id = $1 AND a.removed_at IS NULL
           AND (a.used_at < now() - make_interval(days => $2)
                OR (a.uploaded_at IS NULL AND a.used_at < now() - make_interval(hours => ${UPLOAD_HOURS})))
           AND NOT ${IS_NAMED}
         LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)`,
    [cluster.id, days],
  );
  const marked = await database.query<MarkedRow>(
    `SELECT project_id, namespace, sha256,
            EXISTS (SELECT 1 FROM code_archives o WHERE o.cluster_id = a.cluster_id AND o.namespace = a.namespace AND o.sha256 = a.sha256
                      AND o.project_id <> a.project_id AND o.removed_at IS NULL) AS is_shared
       FROM code_archives a WHERE cluster_id = $1 AND removed_at IS NOT NULL LIMIT ${AT_ONCE}`,
    [cluster.id],
  );
  // The namespace may have had another project before, which uploaded the same.
  const paths = marked.rows.filter(({ is_shared }) => !is_shared).map((row) => codePathOf(row.namespace, row.sha256));
  if (paths.length > 0) await store.remove(paths);
  for (const { project_id, namespace, sha256 } of marked.rows)
    await database.query(
      'DELETE FROM code_archives WHERE cluster_id = $1 AND project_id = $2 AND namespace = $3 AND sha256 = $4 AND removed_at IS NOT NULL',
      [cluster.id, project_id, namespace, sha256],
    );
  return marked.rows.length;
}

interface MarkedRow {
  readonly project_id: string;
  readonly namespace: string;
  readonly sha256: string;
  readonly is_shared: boolean;
}
