import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Where a person asked training to go on, until the cluster has it. An older API beside this one leaves the column alone. */
export class RecordResumeFrom1795331400000 implements MigrationInterface {
  readonly name = 'RecordResumeFrom1795331400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE jobs ADD COLUMN desired_resume_from jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE jobs DROP COLUMN desired_resume_from');
  }
}
