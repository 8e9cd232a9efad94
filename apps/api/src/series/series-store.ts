import type { StepFrame } from '@coxswain/api-types';
import { type Database, type Sql, storableJson } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import { notifyStepsCame } from '../jobs/job-changes.ts';
import { bringLevels, type TouchedBucket } from './level-store.ts';
import { latestPerRank, mergeSteps, type StepValues } from './step-rows.ts';
import type { Gap } from './stream-position.ts';

/** Writes series in batches. Writing a frame twice changes nothing. */
export class SeriesStore {
  readonly #database: Database;
  readonly #cluster: Cluster;

  constructor(database: Database, cluster: Cluster) {
    this.#database = database;
    this.#cluster = cluster;
  }

  /**
   * One transaction for the whole batch. A step that several pods report is one row: what one knows fills what another does not, and the
   * slowest decides how long it took. What comes of a job whose steps were removed is left out: its levels could not be made of them any more.
   */
  async write(frames: readonly StepFrame[], gaps: readonly Gap[]): Promise<void> {
    await this.#database.transaction(async (sql) => {
      for (const gap of gaps) {
        await sql.query('INSERT INTO series_gaps (cluster_id, boot_id, missed_frames) VALUES ($1, $2, $3)', [
          this.#cluster.id,
          gap.bootId,
          gap.missedFrames,
        ]);
      }
      if (frames.length === 0) return;
      const months = await this.#monthsOf(sql, [...new Set(frames.map(({ jobUid }) => jobUid))]);
      const kept = frames.filter(({ jobUid }) => months.has(jobUid));
      if (kept.length === 0) return;
      const touched = await this.#writeSteps(sql, withMonths(mergeSteps(kept), months));
      await this.#writeEpochs(sql, touched);
      await bringLevels(sql, this.#cluster.id, touched);
      await this.#measure(sql, withMonths(kept, months));
      await this.#writeRanks(sql, kept);
      await notifyStepsCame(sql, this.#cluster.id, [...months.keys()]);
    });
  }

  /** In which month the rows of each job lie: that of its first step. There is a place for them afterwards. */
  async #monthsOf(sql: Sql, uids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = await sql.query<{ job_uid: string; month: string }>(
      `WITH begun AS (
         INSERT INTO job_series (cluster_id, job_uid, month)
         SELECT $1, uid, date_trunc('month', now() AT TIME ZONE 'UTC')::date FROM unnest($2::text[]) AS uid
         ON CONFLICT DO NOTHING RETURNING job_uid, month
       ), known AS (
         SELECT job_uid, month FROM begun
         UNION ALL
         SELECT job_uid, month FROM job_series WHERE cluster_id = $1 AND job_uid = ANY ($2::text[]) AND steps_removed_at IS NULL
       )
       SELECT job_uid, month::text FROM known`,
      [this.#cluster.id, uids],
    );
    const months = new Map(found.rows.map((row) => [row.job_uid, row.month]));
    await sql.query('SELECT ensure_series_month(month) FROM unnest($1::date[]) AS month', [
      [...new Set(months.values())],
    ]);
    return months;
  }

  /** Writes what is new or completes what is there, and tells where that was. */
  async #writeSteps(
    sql: Sql,
    steps: readonly (StepValues & { readonly month: string })[],
  ): Promise<readonly TouchedBucket[]> {
    const written = await sql.query<TouchedBucket>(
      `WITH written AS (
         INSERT INTO steps (cluster_id, month, job_uid, epoch, step, loss, tokens, step_time_ms, grad_norm, learning_rate, at)
         SELECT $1, s.month, s."jobUid", s.epoch, s.step, s.loss, s.tokens, s."stepTimeMs", s."gradNorm", s."learningRate", s.at
           FROM jsonb_to_recordset($2::jsonb) AS s (
           month date, "jobUid" text, epoch integer, step bigint, loss double precision, tokens bigint, "stepTimeMs" double precision,
           "gradNorm" double precision, "learningRate" double precision, at timestamptz)
         ON CONFLICT (cluster_id, job_uid, epoch, step, month) DO UPDATE
           SET loss = coalesce(steps.loss, excluded.loss), tokens = coalesce(steps.tokens, excluded.tokens),
               step_time_ms = greatest(steps.step_time_ms, excluded.step_time_ms),
               grad_norm = coalesce(steps.grad_norm, excluded.grad_norm),
               learning_rate = coalesce(steps.learning_rate, excluded.learning_rate),
               change = nextval('step_changes')
           WHERE (steps.loss IS NULL AND excluded.loss IS NOT NULL) OR (steps.tokens IS NULL AND excluded.tokens IS NOT NULL)
              OR (steps.grad_norm IS NULL AND excluded.grad_norm IS NOT NULL)
              OR (steps.learning_rate IS NULL AND excluded.learning_rate IS NOT NULL) OR excluded.step_time_ms > steps.step_time_ms
         RETURNING job_uid, month, epoch, step)
       SELECT job_uid AS "jobUid", month::text, epoch, step / 10 AS bucket, min(step) AS "firstStep", max(step) AS "lastStep"
         FROM written GROUP BY job_uid, month, epoch, step / 10`,
      [this.#cluster.id, storableJson(steps)],
    );
    return written.rows;
  }

  async #writeEpochs(sql: Sql, touched: readonly TouchedBucket[]): Promise<void> {
    await sql.query(
      `INSERT INTO step_epochs (cluster_id, job_uid, epoch, first_step, last_step)
       SELECT $1, t."jobUid", t.epoch, min(t."firstStep"), max(t."lastStep")
         FROM jsonb_to_recordset($2::jsonb) AS t ("jobUid" text, epoch integer, "firstStep" bigint, "lastStep" bigint)
        GROUP BY t."jobUid", t.epoch
       ON CONFLICT (cluster_id, job_uid, epoch) DO UPDATE
         SET first_step = least(step_epochs.first_step, excluded.first_step), last_step = greatest(step_epochs.last_step, excluded.last_step)
         WHERE excluded.first_step < step_epochs.first_step OR excluded.last_step > step_epochs.last_step`,
      [this.#cluster.id, storableJson(touched)],
    );
  }

  async #writeRanks(sql: Sql, frames: readonly StepFrame[]): Promise<void> {
    await sql.query(
      `INSERT INTO rank_steps (cluster_id, job_uid, rank, epoch, step, step_time_ms, timings_ms, at)
       SELECT $1, r.* FROM jsonb_to_recordset($2::jsonb) AS r (
         "jobUid" text, rank integer, epoch integer, step bigint, "stepTimeMs" double precision, "timingsMs" jsonb, at timestamptz)
       ON CONFLICT (cluster_id, job_uid, rank) DO UPDATE
         SET epoch = excluded.epoch, step = excluded.step, step_time_ms = excluded.step_time_ms,
             timings_ms = excluded.timings_ms, at = excluded.at
         WHERE excluded.epoch > rank_steps.epoch
            OR (excluded.epoch = rank_steps.epoch AND (excluded.step > rank_steps.step OR excluded.at > rank_steps.at))`,
      [this.#cluster.id, storableJson(latestPerRank(frames))],
    );
  }

  /** Brings the median step time of the attempts that reported up to date; it is compared with what was predicted. */
  async #measure(sql: Sql, frames: readonly (StepFrame & { readonly month: string })[]): Promise<void> {
    const reported = new Map(
      frames.map(({ jobUid, epoch, month }) => [`${jobUid}/${epoch}`, { jobUid, epoch, month }]),
    );
    await sql.query(
      `INSERT INTO measured_step_times (cluster_id, job_uid, epoch, median_step_ms, steps)
       SELECT $1, a."jobUid", a.epoch, m.median_step_ms, m.steps
         FROM jsonb_to_recordset($2::jsonb) AS a ("jobUid" text, epoch integer, month date)
        CROSS JOIN LATERAL (
          SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY newest.step_time_ms) AS median_step_ms, count(*) AS steps
            FROM (SELECT s.step_time_ms FROM steps s
                   WHERE s.cluster_id = $1 AND s.month = a.month AND s.job_uid = a."jobUid" AND s.epoch = a.epoch
                     AND s.step >= $3 + (SELECT e.first_step FROM step_epochs e
                                          WHERE e.cluster_id = $1 AND e.job_uid = a."jobUid" AND e.epoch = a.epoch)
                   ORDER BY s.step DESC LIMIT $4) AS newest
        ) AS m
        WHERE m.steps > 0
       ON CONFLICT (cluster_id, job_uid, epoch) DO UPDATE
         SET median_step_ms = excluded.median_step_ms, steps = excluded.steps, measured_at = now()`,
      [this.#cluster.id, storableJson([...reported.values()]), WARM_UP_STEPS, MEASURED_STEPS],
    );
  }
}

function withMonths<T extends { readonly jobUid: string }>(
  rows: readonly T[],
  months: ReadonlyMap<string, string>,
): readonly (T & { readonly month: string })[] {
  return rows.map((row) => ({ ...row, month: months.get(row.jobUid) ?? '' }));
}

/** Steps at the beginning of an attempt that are slower than the rest: memory is allocated, kernels are chosen, files are read first. */
const WARM_UP_STEPS = 3;
/** The newest steps say what an attempt does now; older ones would only make the median slower to compute. */
const MEASURED_STEPS = 1_000;
