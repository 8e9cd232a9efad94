import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Since when a job waits for GPUs, as the projection reads it from the resource; null: it does not wait. The projection compares this column with the resource of
 * every job when the API starts, so no statement fills it here. The same comparison mends what a release without the column leaves behind.
 */
export class RecordSinceWhenJobsWait1795881000000 implements MigrationInterface {
  readonly name = 'RecordSinceWhenJobsWait1795881000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE jobs ADD COLUMN waits_since timestamptz;
      CREATE INDEX jobs_that_wait ON jobs (cluster_id, namespace, waits_since)
        WHERE waits_since IS NOT NULL AND finished_at IS NULL AND deleted_at IS NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE jobs DROP COLUMN waits_since');
  }
}
