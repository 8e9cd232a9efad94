import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The start that was expected first of a job for which nodes were held, and since when: `{start, since}`. The resource has it only while the job waits; the row keeps
 * it, so that it can be compared with the start that came. Null: no nodes were held for the job, or a release without the column wrote the row.
 */
export class RecordFirstExpectedStarts1795919700000 implements MigrationInterface {
  readonly name = 'RecordFirstExpectedStarts1795919700000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE jobs ADD COLUMN first_expected_start jsonb;
      CREATE INDEX jobs_with_expected_starts ON jobs (cluster_id, updated_at) WHERE first_expected_start IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE jobs DROP COLUMN first_expected_start');
  }
}
