import { type Database, firstOf } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { HOUR_MS } from '@coxswain/units';
import type { Config } from '../config/config.ts';
import { sweepRegularly } from '../infrastructure/regular-sweeps.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { deleteSomeRows } from './series-rows.ts';

/** Jobs that one pass prunes; the next pass continues. */
const JOBS_AT_ONCE = 100;
/** Statements of one sweep that delete rows; the next sweep goes on. */
const MOST_BATCHES = 1_000;

/** What is removed at its time. */
type Kept = 'steps' | 'levels';

const TABLES: Readonly<Record<Kept, { readonly table: 'steps' | 'step_levels'; readonly removedAt: string }>> = {
  steps: { table: 'steps', removedAt: 'steps_removed_at' },
  levels: { table: 'step_levels', removedAt: 'levels_removed_at' },
};

/** What a sweep needs. */
export interface RetentionParts {
  readonly database: Database;
  readonly cluster: Cluster;
  readonly retention: Config['seriesRetention'];
  readonly logger: Logger;
}

/** Removes series of this cluster that are kept no longer, at the start and once an hour, until `signal` aborts. */
export function removeExpiredSeries(parts: RetentionParts, signal: AbortSignal): Promise<void> {
  const sweep = async (): Promise<boolean> => {
    await sweepSeries(parts, signal);
    return false;
  };
  const failed = 'series were not removed; trying later';
  return sweepRegularly({ everyMs: HOUR_MS, sweep, logger: parts.logger, failed }, signal);
}

/** One bounded sweep. A month in which nothing counts any more is dropped as a whole; of others the rows of ended jobs are deleted. */
export async function sweepSeries(parts: RetentionParts, signal: AbortSignal): Promise<void> {
  const sweep = new Sweep(parts, signal);
  await sweep.run('steps', parts.retention.stepsDays);
  await sweep.run('levels', parts.retention.levelsDays);
}

class Sweep {
  readonly #parts: RetentionParts;
  readonly #signal: AbortSignal;
  #batches = 0;

  constructor(parts: RetentionParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
  }

  async run(kept: Kept, days: number): Promise<void> {
    if (days === 0) return;
    for (;;) {
      const expired = await this.#expired(kept, days);
      for (const [month, uids] of Map.groupBy(expired, ({ month: of }) => of)) {
        if (this.#isOver) return;
        if (await this.#dropMonth(kept, month, days)) continue;
        for (const { job_uid: uid } of uids) if (!(await this.#deleteRows(kept, month, uid))) return;
      }
      if (expired.length < JOBS_AT_ONCE || this.#isOver) return;
    }
  }

  get #isOver(): boolean {
    return this.#signal.aborted || this.#batches >= MOST_BATCHES;
  }

  /** Of jobs that ended so long ago, or that are in no row and began so long ago. */
  async #expired(kept: Kept, days: number): Promise<readonly { readonly job_uid: string; readonly month: string }[]> {
    const found = await this.#parts.database.query<{ job_uid: string; month: string }>(
      `SELECT s.job_uid, s.month::text FROM ${SERIES_AND_JOB}
        WHERE s.cluster_id = $1 AND s.${TABLES[kept].removedAt} IS NULL AND ${ENDED_AT} < now() - make_interval(days => $2)
        ORDER BY s.month LIMIT $3`,
      [this.#parts.cluster.id, days, JOBS_AT_ONCE],
    );
    return found.rows;
  }

  /** False when the month is not over, or somebody's rows in it still count. */
  #dropMonth(kept: Kept, month: string, days: number): Promise<boolean> {
    const { table, removedAt } = TABLES[kept];
    const { database, cluster, logger } = this.#parts;
    return database.transaction(async (sql) => {
      const counting = await sql.query(
        `SELECT 1 FROM ${SERIES_AND_JOB}
          WHERE s.cluster_id = $1 AND s.month = $2::date AND s.${removedAt} IS NULL
            AND (${ENDED_AT} >= now() - make_interval(days => $3)) IS NOT FALSE LIMIT 1`,
        [cluster.id, month, days],
      );
      if (counting.rows.length > 0) return false;
      const dropped = await sql.query<{ is_dropped: boolean }>(
        'SELECT remove_series_month($1, $2::date, $3) AS is_dropped',
        [table, month, cluster.id],
      );
      if (firstOf(dropped)?.is_dropped !== true) return false;
      await sql.query(
        `UPDATE job_series SET ${removedAt} = now() WHERE cluster_id = $1 AND month = $2::date AND ${removedAt} IS NULL`,
        [cluster.id, month],
      );
      logger.info({ table, month }, 'dropped a month of series');
      return true;
    });
  }

  /** False when this sweep has done enough. */
  async #deleteRows(kept: Kept, month: string, uid: string): Promise<boolean> {
    const { table, removedAt } = TABLES[kept];
    const { database, cluster } = this.#parts;
    for (;;) {
      if (this.#isOver) return false;
      this.#batches += 1;
      if (!(await deleteSomeRows(database, cluster, { table, month, uid }))) break;
    }
    await database.query(`UPDATE job_series SET ${removedAt} = now() WHERE cluster_id = $1 AND job_uid = $2`, [
      cluster.id,
      uid,
    ]);
    return true;
  }
}

const SERIES_AND_JOB = 'job_series s LEFT JOIN jobs j ON j.cluster_id = s.cluster_id AND j.uid = s.job_uid';
/** Null while the job goes on. */
const ENDED_AT = 'CASE WHEN j.id IS NULL THEN s.began_at ELSE least(j.finished_at, j.deleted_at) END';
