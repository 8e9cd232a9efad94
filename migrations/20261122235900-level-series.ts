import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Steps lie in partitions by the month in which their job began, with levels of ten, a hundred and a thousand steps beside them, from which a long
 * curve is drawn (ADR 0040). What is there is kept: it is moved, and its levels are made of it.
 *
 * `steps` and `step_levels` refer to nothing: their one writer makes the row of `job_series` in the same transaction, and a month is dropped
 * without asking every row. Only the owner of tables can make and drop partitions; two functions do it for the writer.
 *
 * The key of `steps` has a month that an older API does not know. Nothing was released before this. Steps that such a process receives until it is replaced are not recorded.
 */
export class LevelSeries1795391940000 implements MigrationInterface {
  readonly name = 'LevelSeries1795391940000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLES);
    await runner.query(FUNCTIONS);
    await runner.query(`
      INSERT INTO job_series (cluster_id, job_uid, month, began_at)
      SELECT s.cluster_id, s.job_uid, date_trunc('month', coalesce(j.created_at, now()) AT TIME ZONE 'UTC')::date, coalesce(j.created_at, now())
        FROM (SELECT DISTINCT cluster_id, job_uid FROM flat_steps) AS s
        LEFT JOIN jobs j ON j.cluster_id = s.cluster_id AND j.uid = s.job_uid;
      SELECT ensure_series_month(month) FROM (SELECT DISTINCT month FROM job_series) AS months;
      INSERT INTO steps (cluster_id, month, job_uid, epoch, step, loss, tokens, step_time_ms, grad_norm, learning_rate, at, change)
      SELECT s.cluster_id, j.month, s.job_uid, s.epoch, s.step, s.loss, s.tokens, s.step_time_ms, s.grad_norm, s.learning_rate, s.at, s.change
        FROM flat_steps s JOIN job_series j USING (cluster_id, job_uid);
      INSERT INTO step_epochs (cluster_id, job_uid, epoch, first_step, last_step)
      SELECT cluster_id, job_uid, epoch, min(step), max(step) FROM steps GROUP BY cluster_id, job_uid, epoch;
      ${[10, 100, 1_000].map((width) => level(width)).join(';')};
      DROP TABLE flat_steps;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION ensure_series_month(date), remove_series_month(text, date, uuid);
      ALTER TABLE steps RENAME TO steps_by_month;
      ALTER TABLE steps_by_month RENAME CONSTRAINT steps_pkey TO steps_by_month_pkey;
      ALTER INDEX steps_by_change RENAME TO steps_by_month_by_change;
      CREATE TABLE steps (
        cluster_id uuid NOT NULL REFERENCES clusters,
        job_uid text NOT NULL,
        epoch integer NOT NULL,
        step bigint NOT NULL,
        loss double precision,
        tokens bigint,
        step_time_ms double precision NOT NULL,
        grad_norm double precision,
        learning_rate double precision,
        at timestamptz NOT NULL,
        change bigint NOT NULL DEFAULT nextval('step_changes'),
        PRIMARY KEY (cluster_id, job_uid, epoch, step)
      );
      INSERT INTO steps SELECT cluster_id, job_uid, epoch, step, loss, tokens, step_time_ms, grad_norm, learning_rate, at, change FROM steps_by_month;
      CREATE INDEX steps_by_change ON steps (cluster_id, job_uid, change);
      DROP TABLE steps_by_month, step_levels, step_epochs, job_series;
    `);
  }
}

const TABLES = `
  ALTER TABLE steps RENAME TO flat_steps;
  ALTER TABLE flat_steps RENAME CONSTRAINT steps_pkey TO flat_steps_pkey;
  DROP INDEX steps_by_change;

  CREATE TABLE job_series (
    cluster_id uuid NOT NULL REFERENCES clusters,
    job_uid text NOT NULL,
    month date NOT NULL CHECK (extract(day FROM month) = 1),
    began_at timestamptz NOT NULL DEFAULT now(),
    steps_removed_at timestamptz,
    levels_removed_at timestamptz,
    PRIMARY KEY (cluster_id, job_uid)
  );
  CREATE INDEX job_series_of_month ON job_series (cluster_id, month);

  CREATE TABLE step_epochs (
    cluster_id uuid NOT NULL REFERENCES clusters,
    job_uid text NOT NULL,
    epoch integer NOT NULL,
    first_step bigint NOT NULL,
    last_step bigint NOT NULL,
    PRIMARY KEY (cluster_id, job_uid, epoch)
  );

  CREATE TABLE steps (
    cluster_id uuid NOT NULL,
    month date NOT NULL,
    job_uid text NOT NULL,
    epoch integer NOT NULL,
    step bigint NOT NULL,
    loss double precision,
    tokens bigint,
    step_time_ms double precision NOT NULL,
    grad_norm double precision,
    learning_rate double precision,
    at timestamptz NOT NULL,
    change bigint NOT NULL DEFAULT nextval('step_changes'),
    PRIMARY KEY (cluster_id, job_uid, epoch, step, month)
  ) PARTITION BY RANGE (month);
  CREATE INDEX steps_by_change ON steps (cluster_id, job_uid, change);

  CREATE TABLE step_levels (
    cluster_id uuid NOT NULL,
    month date NOT NULL,
    job_uid text NOT NULL,
    epoch integer NOT NULL,
    width integer NOT NULL,
    bucket bigint NOT NULL,
    first_step bigint NOT NULL,
    last_step bigint NOT NULL,
    steps integer NOT NULL,
    losses integer NOT NULL,
    loss_sum double precision,
    loss_min double precision,
    loss_max double precision,
    step_time_sum double precision NOT NULL,
    step_time_min double precision NOT NULL,
    step_time_max double precision NOT NULL,
    tokens_sum double precision,
    tokens_ms double precision,
    speed_min double precision,
    speed_max double precision,
    grads integer NOT NULL,
    grad_sum double precision,
    grad_min double precision,
    grad_max double precision,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (cluster_id, job_uid, epoch, width, bucket, month)
  ) PARTITION BY RANGE (month);
`;

/** The search path is fixed, so that a caller cannot put other tables in the place of ours. */
const FUNCTIONS = `
  CREATE FUNCTION ensure_series_month(wanted date) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
  DECLARE
    parent text;
    part text;
  BEGIN
    FOREACH parent IN ARRAY ARRAY['steps', 'step_levels'] LOOP
      part := parent || to_char(wanted, '_YYYY_MM');
      CONTINUE WHEN to_regclass('public.' || part) IS NOT NULL;
      PERFORM pg_advisory_xact_lock(hashtextextended('coxswain/series-months', 0));
      CONTINUE WHEN to_regclass('public.' || part) IS NOT NULL;
      -- Made first and attached then: nobody who reads other months waits.
      EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) WITH (fillfactor = 80)', part, parent);
      EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', parent, part,
        date_trunc('month', wanted)::date, (date_trunc('month', wanted) + interval '1 month')::date);
    END LOOP;
  END $body$;

  -- Whether nothing of that month is left: a month that is over, in which no other cluster has rows.
  CREATE FUNCTION remove_series_month(parent text, wanted date, of_cluster uuid) RETURNS boolean
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
  DECLARE
    part text := parent || to_char(wanted, '_YYYY_MM');
    is_shared boolean;
  BEGIN
    IF parent NOT IN ('steps', 'step_levels') OR wanted >= date_trunc('month', now() AT TIME ZONE 'UTC')::date THEN
      RETURN false;
    END IF;
    IF to_regclass('public.' || part) IS NULL THEN
      RETURN true;
    END IF;
    -- Readers of other months wait behind us while we wait.
    PERFORM set_config('lock_timeout', '2s', true);
    EXECUTE format('LOCK TABLE public.%I IN EXCLUSIVE MODE', part);
    EXECUTE format(
      'SELECT coalesce((SELECT cluster_id FROM public.%1$I ORDER BY cluster_id LIMIT 1) <> $1, false)
           OR coalesce((SELECT cluster_id FROM public.%1$I ORDER BY cluster_id DESC LIMIT 1) <> $1, false)', part)
      INTO is_shared USING of_cluster;
    IF NOT is_shared THEN
      EXECUTE format('DROP TABLE public.%I', part);
    END IF;
    RETURN NOT is_shared;
  END $body$;

  REVOKE EXECUTE ON FUNCTION ensure_series_month(date), remove_series_month(text, date, uuid) FROM PUBLIC;
`;

/** Buckets of that width from the level below it, or from the steps themselves. The same as the API writes (curves/step-levels.ts). */
function level(width: number): string {
  const parts =
    width === 10
      ? `SELECT cluster_id, month, job_uid, epoch, step / 10 AS bucket, step AS first_step, step AS last_step, 1 AS steps,
                (loss IS NOT NULL)::integer AS losses, CASE WHEN loss IS NOT NULL THEN greatest(least(loss, 1e290), -1e290) END AS loss_sum, loss AS loss_min, loss AS loss_max,
                greatest(least(step_time_ms, 1e290), -1e290) AS step_time_sum, step_time_ms AS step_time_min, step_time_ms AS step_time_max,
                tokens::double precision AS tokens_sum, CASE WHEN tokens IS NOT NULL THEN greatest(least(step_time_ms, 1e290), -1e290) END AS tokens_ms,
                CASE WHEN step_time_ms > 0 THEN tokens * 1000.0 / greatest(step_time_ms, 0.001) END AS speed_min,
                CASE WHEN step_time_ms > 0 THEN tokens * 1000.0 / greatest(step_time_ms, 0.001) END AS speed_max,
                (grad_norm IS NOT NULL)::integer AS grads, CASE WHEN grad_norm IS NOT NULL THEN greatest(least(grad_norm, 1e290), -1e290) END AS grad_sum,
                grad_norm AS grad_min, grad_norm AS grad_max, at AS last_at
           FROM steps`
      : `SELECT cluster_id, month, job_uid, epoch, bucket / 10 AS bucket, first_step, last_step, steps, losses, loss_sum, loss_min, loss_max,
                step_time_sum, step_time_min, step_time_max, tokens_sum, tokens_ms, speed_min, speed_max, grads, grad_sum, grad_min, grad_max, last_at
           FROM step_levels WHERE width = ${width / 10}`;
  return `
      INSERT INTO step_levels (cluster_id, month, job_uid, epoch, width, bucket, first_step, last_step, steps, losses, loss_sum, loss_min, loss_max,
             step_time_sum, step_time_min, step_time_max, tokens_sum, tokens_ms, speed_min, speed_max, grads, grad_sum, grad_min, grad_max, last_at)
      SELECT cluster_id, month, job_uid, epoch, ${width}, bucket, min(first_step), max(last_step), sum(steps), sum(losses), sum(loss_sum),
             min(loss_min), max(loss_max), sum(step_time_sum), min(step_time_min), max(step_time_max), sum(tokens_sum), sum(tokens_ms),
             min(speed_min), max(speed_max), sum(grads), sum(grad_sum), min(grad_min), max(grad_max), max(last_at)
        FROM (${parts}) AS part GROUP BY cluster_id, month, job_uid, epoch, bucket`;
}
