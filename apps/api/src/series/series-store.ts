import type { StepFrame } from '@coxswain/api-types';
import { type Database, type Sql, storableJson } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import { JOB_CHANNEL } from '../jobs/job-changes.ts';
import { latestPerRank, mergeSteps } from './step-rows.ts';
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
   * slowest decides how long it took.
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
      const steps = mergeSteps(frames);
      await sql.query(
        `INSERT INTO steps (cluster_id, job_uid, epoch, step, loss, tokens, step_time_ms, grad_norm, learning_rate, at)
         SELECT $1, s.* FROM jsonb_to_recordset($2::jsonb) AS s (
           "jobUid" text, epoch integer, step bigint, loss double precision, tokens bigint, "stepTimeMs" double precision,
           "gradNorm" double precision, "learningRate" double precision, at timestamptz)
         ON CONFLICT (cluster_id, job_uid, epoch, step) DO UPDATE
           SET loss = coalesce(steps.loss, excluded.loss), tokens = coalesce(steps.tokens, excluded.tokens),
               step_time_ms = greatest(steps.step_time_ms, excluded.step_time_ms),
               grad_norm = coalesce(steps.grad_norm, excluded.grad_norm),
               learning_rate = coalesce(steps.learning_rate, excluded.learning_rate),
               change = nextval('step_changes')
           WHERE (steps.loss IS NULL AND excluded.loss IS NOT NULL) OR (steps.tokens IS NULL AND excluded.tokens IS NOT NULL)
              OR (steps.grad_norm IS NULL AND excluded.grad_norm IS NOT NULL) OR excluded.step_time_ms > steps.step_time_ms`,
        [this.#cluster.id, storableJson(steps)],
      );
      await this.#measure(sql, frames);
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
      const uids = [...new Set(frames.map((frame) => frame.jobUid))];
      await sql.query('SELECT pg_notify($3, id::text) FROM jobs WHERE cluster_id = $1 AND uid = ANY ($2::text[])', [
        this.#cluster.id,
        uids,
        JOB_CHANNEL,
      ]);
    });
  }

  /** Brings the median step time of the attempts that reported up to date; it is compared with what was predicted. */
  async #measure(sql: Sql, frames: readonly StepFrame[]): Promise<void> {
    const reported = new Map(frames.map(({ jobUid, epoch }) => [`${jobUid}/${epoch}`, { jobUid, epoch }]));
    await sql.query(
      `INSERT INTO measured_step_times (cluster_id, job_uid, epoch, median_step_ms, steps)
       SELECT $1, a."jobUid", a.epoch, m.median_step_ms, m.steps
         FROM jsonb_to_recordset($2::jsonb) AS a ("jobUid" text, epoch integer)
        CROSS JOIN LATERAL (
          SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY newest.step_time_ms) AS median_step_ms, count(*) AS steps
            FROM (SELECT s.step_time_ms FROM steps s
                   WHERE s.cluster_id = $1 AND s.job_uid = a."jobUid" AND s.epoch = a.epoch
                     AND s.step >= $3 + (SELECT min(f.step) FROM steps f
                                          WHERE f.cluster_id = $1 AND f.job_uid = a."jobUid" AND f.epoch = a.epoch)
                   ORDER BY s.step DESC LIMIT $4) AS newest
        ) AS m
        WHERE m.steps > 0
       ON CONFLICT (cluster_id, job_uid, epoch) DO UPDATE
         SET median_step_ms = excluded.median_step_ms, steps = excluded.steps, measured_at = now()`,
      [this.#cluster.id, storableJson([...reported.values()]), WARM_UP_STEPS, MEASURED_STEPS],
    );
  }
}

/** Steps at the beginning of an epoch that are slower than the rest: memory is allocated, kernels are chosen, files are read first. */
const WARM_UP_STEPS = 3;
/** The newest steps say what an attempt does now; older ones would only make the median slower to compute. */
const MEASURED_STEPS = 1_000;
