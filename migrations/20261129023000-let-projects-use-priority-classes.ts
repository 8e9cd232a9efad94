import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which PriorityClasses jobs of a project may name; none at first, so jobs have the default priority as before. The release before inserts projects without
 * the column.
 */
export class LetProjectsUsePriorityClasses1795919400000 implements MigrationInterface {
  readonly name = 'LetProjectsUsePriorityClasses1795919400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query("ALTER TABLE projects ADD COLUMN priority_classes text[] NOT NULL DEFAULT '{}'");
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE projects DROP COLUMN priority_classes');
  }
}
