import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The outbox holds one entry per job (ADR 0128), and a project's entries are found by its turn: the project, or the cluster if no project owns the namespace.
 * `changes` counts the changes that one entry stands for. Rows of an older API beside this one have `is_entry = false`; the worker turns them into entries. An
 * older worker beside this one takes entries as it takes its own rows. A job says why its last change did not reach the cluster.
 */
export class ServeJobsInTurns1795854600000 implements MigrationInterface {
  readonly name = 'ServeJobsInTurns1795854600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE outbox
        ADD COLUMN is_entry boolean NOT NULL DEFAULT false,
        ADD COLUMN cluster_id uuid REFERENCES clusters,
        ADD COLUMN turn_id uuid,
        ADD COLUMN urgency smallint NOT NULL DEFAULT 1,
        ADD COLUMN changes integer NOT NULL DEFAULT 1,
        ADD COLUMN failures integer NOT NULL DEFAULT 0,
        ADD COLUMN due_at timestamptz NOT NULL DEFAULT now(),
        ADD COLUMN leased_until timestamptz;
      CREATE UNIQUE INDEX outbox_entry_of_job ON outbox (job_id) WHERE is_entry;
      CREATE INDEX outbox_turns ON outbox (cluster_id, turn_id, urgency, due_at) WHERE is_entry;
      CREATE INDEX outbox_of_earlier_releases ON outbox (job_id) WHERE NOT is_entry;

      ALTER TABLE jobs
        ADD COLUMN apply_error text,
        ADD COLUMN apply_failing_since timestamptz,
        ADD COLUMN apply_retry_at timestamptz;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE jobs DROP COLUMN apply_error, DROP COLUMN apply_failing_since, DROP COLUMN apply_retry_at;
      DROP INDEX outbox_entry_of_job, outbox_turns, outbox_of_earlier_releases;
      ALTER TABLE outbox DROP COLUMN is_entry, DROP COLUMN cluster_id, DROP COLUMN turn_id, DROP COLUMN urgency, DROP COLUMN changes,
        DROP COLUMN failures, DROP COLUMN due_at, DROP COLUMN leased_until;
    `);
  }
}
