import type { StepBucket, StepPoint } from '@coxswain/api-types';
import { firstOf, ofJob, type Sql } from '@coxswain/persistence';
import type { Cluster } from '../infrastructure/tokens.ts';
import { type CurveWindow, type EpochSteps, type Piece, planCurve, type Segment, segmentsOf } from './curve-plan.ts';
import { LEVEL_COLUMNS, LEVEL_WIDTHS, LEVELS_TOGETHER, type LevelRow, STEP_AS_LEVEL } from './step-levels.ts';

/** Steps of a page unless its reader says otherwise. */
export const DEFAULT_STEPS = 2_000;

/** The whole window in at most `maxPoints` points, or a page of at most `limit` steps. */
export interface CurveRequest extends CurveWindow {
  readonly maxPoints?: number | undefined;
  readonly limit?: number | undefined;
}

/** Of that many attempts a page is read at once: one is nearly always enough, and each costs up to a page. */
const SEGMENTS_AT_ONCE = 16;

/** What is kept of a job's steps. */
interface Kept {
  /** First day, in UTC, of the month in which the job began: where its rows lie. */
  readonly month: string;
  /** Narrowest bucket that is left; 1: the steps themselves. */
  readonly finest: number;
  readonly epochs: readonly EpochSteps[];
}

/** Reads curves of jobs that the caller may see. */
export class CurveReader {
  readonly #sql: Sql;
  readonly #cluster: Cluster;

  constructor(sql: Sql, cluster: Cluster) {
    this.#sql = sql;
    this.#cluster = cluster;
  }

  /** Points in ascending order of their steps. Where attempts overlap, what a later one undid is left out. */
  async read(uid: string, request: CurveRequest): Promise<readonly StepPoint[]> {
    const kept = await this.#keptOf(uid);
    if (kept === undefined) return [];
    const segments = segmentsOf(kept.epochs, request);
    const { maxPoints, limit = DEFAULT_STEPS } = request;
    if (maxPoints === undefined) return this.#page(uid, { kept, segments, limit });
    return this.#points(uid, {
      ...planCurve(segments, { maxPoints, finest: kept.finest }),
      month: kept.month,
      limit: maxPoints,
    });
  }

  async #page(
    uid: string,
    of: { readonly kept: Kept; readonly segments: readonly Segment[]; readonly limit: number },
  ): Promise<readonly StepPoint[]> {
    const { kept, segments, limit } = of;
    const points: StepPoint[] = [];
    for (let first = 0; first < segments.length && points.length < limit; first += SEGMENTS_AT_ONCE) {
      const pieces = segments
        .slice(first, first + SEGMENTS_AT_ONCE)
        .map((segment) => ({ ...segment, width: kept.finest }));
      const left = limit - points.length;
      points.push(...(await this.#points(uid, { month: kept.month, pieces, group: kept.finest, limit: left })));
    }
    return points;
  }

  async #keptOf(uid: string): Promise<Kept | undefined> {
    const found = await this.#sql.query<{
      month: string;
      has_steps: boolean;
      has_levels: boolean;
      epochs: readonly EpochSteps[];
    }>(
      `SELECT s.month::text, s.steps_removed_at IS NULL AS has_steps, s.levels_removed_at IS NULL AS has_levels, ${ofJob('s.job_uid')},
              (SELECT coalesce(jsonb_agg(jsonb_build_object('epoch', e.epoch, 'firstStep', e.first_step, 'lastStep', e.last_step)), '[]')
                 FROM step_epochs e WHERE e.cluster_id = s.cluster_id AND e.job_uid = s.job_uid) AS epochs
         FROM job_series s WHERE s.cluster_id = $1 AND s.job_uid = $2`,
      [this.#cluster.id, uid],
    );
    const row = firstOf(found);
    if (row === undefined || !row.has_levels) return undefined;
    return { month: row.month, finest: row.has_steps ? 1 : LEVEL_WIDTHS[0], epochs: row.epochs };
  }

  /** Of every piece at most `limit` rows are read when they are not put together. */
  async #points(
    uid: string,
    of: {
      readonly month: string;
      readonly pieces: readonly Piece[];
      readonly group: number;
      readonly limit: number;
    },
  ): Promise<readonly StepPoint[]> {
    const { pieces } = of;
    if (pieces.length === 0) return [];
    const found = await this.#sql.query<LevelRow>(CURVE, [
      this.#cluster.id,
      of.month,
      uid,
      pieces.map(({ epoch }) => epoch),
      pieces.map(({ width }) => width),
      pieces.map(({ fromStep }) => fromStep),
      pieces.map(({ toStep }) => toStep),
      of.group,
      of.limit,
    ]);
    return found.rows.map(toStepPoint);
  }
}

/** A group is one row at least, so what is beyond the limit of a piece cannot be among the first groups: pages read no more than they show. */
const CURVE = `
  WITH piece AS (
    SELECT * FROM unnest($4::integer[], $5::integer[], $6::bigint[], $7::bigint[]) AS p (epoch, width, from_step, to_step)
  ), part AS (
    SELECT p.epoch, s.* FROM piece p CROSS JOIN LATERAL (
      SELECT ${STEP_AS_LEVEL} FROM steps
       WHERE cluster_id = $1 AND month = $2::date AND job_uid = $3 AND epoch = p.epoch AND step BETWEEN p.from_step AND p.to_step
       ORDER BY step LIMIT $9::bigint * $8::bigint) AS s
     WHERE p.width = 1
    UNION ALL
    SELECT p.epoch, l.* FROM piece p CROSS JOIN LATERAL (
      SELECT ${LEVEL_COLUMNS} FROM step_levels
       WHERE cluster_id = $1 AND month = $2::date AND job_uid = $3 AND epoch = p.epoch AND width = p.width
         AND bucket BETWEEN p.from_step / p.width AND p.to_step / p.width
       ORDER BY bucket LIMIT $9::bigint * greatest(1, $8::bigint / p.width)) AS l
     WHERE p.width > 1
  ), point AS (
    SELECT epoch, ${LEVELS_TOGETHER} FROM part GROUP BY epoch, first_step / $8::bigint
  )
  SELECT epoch, first_step::double precision, last_step::double precision, steps, losses, loss_sum, loss_min, loss_max,
         step_time_sum, step_time_min, step_time_max, tokens_sum, tokens_ms, speed_min, speed_max, grads, grad_sum, grad_min, grad_max,
         rates, rate_sum, rate_min, rate_max, last_at
    FROM point ORDER BY point.first_step, epoch LIMIT $9`;

function toStepPoint(row: LevelRow): StepPoint {
  return {
    epoch: row.epoch,
    step: row.first_step,
    loss: mean(row.loss_sum, row.losses),
    tokens: row.tokens_sum === null || row.tokens_sum > Number.MAX_SAFE_INTEGER ? null : row.tokens_sum,
    tokensPerSecond:
      row.tokens_sum === null || row.tokens_ms === null || row.tokens_ms <= 0
        ? null
        : (row.tokens_sum * 1000) / row.tokens_ms,
    stepTimeMs: row.step_time_sum / row.steps,
    gradNorm: mean(row.grad_sum, row.grads),
    learningRate: mean(row.rate_sum, row.rates),
    at: row.last_at.toISOString(),
    bucket: row.steps === 1 ? null : bucketOf(row),
  };
}

function bucketOf(row: LevelRow): StepBucket {
  return {
    lastStep: row.last_step,
    steps: row.steps,
    loss: rangeOf(row.loss_min, row.loss_max),
    tokensPerSecond: rangeOf(row.speed_min, row.speed_max),
    stepTimeMs: { min: row.step_time_min, max: row.step_time_max },
    gradNorm: rangeOf(row.grad_min, row.grad_max),
    learningRate: rangeOf(row.rate_min, row.rate_max),
  };
}

function mean(sum: number | null, count: number): number | null {
  return sum === null || count === 0 ? null : sum / count;
}

function rangeOf(min: number | null, max: number | null): StepBucket['loss'] {
  return min === null || max === null ? null : { min, max };
}
