/**
 * Steps that one point of a level stands for, ascending; each is a multiple of the one before. A step belongs to bucket `floor(step / width)`.
 * A curve is drawn from the level that has about as many buckets as it is to have points, at most ten times as many.
 */
export const LEVEL_WIDTHS = [10, 100, 1_000] as const;

/** What a level keeps of the steps of a bucket; a raw step is a bucket of one. */
export interface LevelRow {
  readonly epoch: number;
  readonly first_step: number;
  readonly last_step: number;
  readonly steps: number;
  readonly losses: number;
  readonly loss_sum: number | null;
  readonly loss_min: number | null;
  readonly loss_max: number | null;
  readonly step_time_sum: number;
  readonly step_time_min: number;
  readonly step_time_max: number;
  readonly tokens_sum: number | null;
  readonly tokens_ms: number | null;
  readonly speed_min: number | null;
  readonly speed_max: number | null;
  readonly grads: number;
  readonly grad_sum: number | null;
  readonly grad_min: number | null;
  readonly grad_max: number | null;
  readonly rates: number;
  readonly rate_sum: number | null;
  readonly rate_min: number | null;
  readonly rate_max: number | null;
  readonly last_at: Date;
}

/** Columns of {@link LevelRow} but its epoch, in the order of the expressions below. */
export const LEVEL_COLUMNS =
  'first_step, last_step, steps, losses, loss_sum, loss_min, loss_max, step_time_sum, step_time_min, step_time_max, ' +
  'tokens_sum, tokens_ms, speed_min, speed_max, grads, grad_sum, grad_min, grad_max, rates, rate_sum, rate_min, rate_max, last_at';

/** A sum of numbers that a program made up must not be more than a double holds; least and greatest are kept as they came. */
const summed = (value: string): string =>
  `CASE WHEN ${value} IS NOT NULL THEN greatest(least(${value}, 1e290), -1e290) END`;
/** Tokens a second of a step; a step takes a microsecond at least. */
const SPEED = 'CASE WHEN step_time_ms > 0 THEN tokens * 1000.0 / greatest(step_time_ms, 0.001) END';

/** A row of `steps` as a bucket of one step. */
export const STEP_AS_LEVEL = `step AS first_step, step AS last_step, 1 AS steps,
  (loss IS NOT NULL)::integer AS losses, ${summed('loss')} AS loss_sum, loss AS loss_min, loss AS loss_max,
  ${summed('step_time_ms')} AS step_time_sum, step_time_ms AS step_time_min, step_time_ms AS step_time_max,
  tokens::double precision AS tokens_sum, CASE WHEN tokens IS NOT NULL THEN ${summed('step_time_ms')} END AS tokens_ms,
  ${SPEED} AS speed_min, ${SPEED} AS speed_max,
  (grad_norm IS NOT NULL)::integer AS grads, ${summed('grad_norm')} AS grad_sum, grad_norm AS grad_min, grad_norm AS grad_max,
  (learning_rate IS NOT NULL)::integer AS rates, ${summed('learning_rate')} AS rate_sum, learning_rate AS rate_min, learning_rate AS rate_max,
  at AS last_at`;

/** Buckets together as one. */
export const LEVELS_TOGETHER = `min(first_step) AS first_step, max(last_step) AS last_step, sum(steps)::integer AS steps,
  sum(losses)::integer AS losses, sum(loss_sum) AS loss_sum, min(loss_min) AS loss_min, max(loss_max) AS loss_max,
  sum(step_time_sum) AS step_time_sum, min(step_time_min) AS step_time_min, max(step_time_max) AS step_time_max,
  sum(tokens_sum) AS tokens_sum, sum(tokens_ms) AS tokens_ms, min(speed_min) AS speed_min, max(speed_max) AS speed_max,
  sum(grads)::integer AS grads, sum(grad_sum) AS grad_sum, min(grad_min) AS grad_min, max(grad_max) AS grad_max,
  sum(rates)::integer AS rates, sum(rate_sum) AS rate_sum, min(rate_min) AS rate_min, max(rate_max) AS rate_max,
  max(last_at) AS last_at`;
