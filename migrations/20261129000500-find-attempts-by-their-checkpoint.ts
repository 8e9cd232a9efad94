import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The page of a checkpoint lists the attempts that began from it, of any job. Releases before it use no index, and need none. */
export class FindAttemptsByTheirCheckpoint1795910700000 implements MigrationInterface {
  readonly name = 'FindAttemptsByTheirCheckpoint1795910700000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX attempts_from_checkpoint ON attempts (cluster_id, (attempt->'resumedFrom'->>'checkpoint'))
        WHERE attempt->'resumedFrom'->>'checkpoint' IS NOT NULL
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX attempts_from_checkpoint');
  }
}
