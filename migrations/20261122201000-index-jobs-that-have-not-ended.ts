import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How many jobs of a project have not ended is counted whenever one is made. */
export class IndexJobsThatHaveNotEnded1795378200000 implements MigrationInterface {
  readonly name = 'IndexJobsThatHaveNotEnded1795378200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX jobs_unfinished_of_project ON jobs (project_id) WHERE finished_at IS NULL AND deleted_at IS NULL',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX jobs_unfinished_of_project');
  }
}
