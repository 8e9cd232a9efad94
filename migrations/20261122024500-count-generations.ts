import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What counts the changes that were asked of a job is its `generation`, the word that Kubernetes has for it; `intent` was a third name of
 * the same idea. A rename leaves no time in which both names are there: nothing was released before this, so no older API runs beside it.
 */
export class CountGenerations1795315500000 implements MigrationInterface {
  readonly name = 'CountGenerations1795315500000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE jobs RENAME COLUMN intent TO generation;
      ALTER TABLE jobs RENAME COLUMN applied_intent TO applied_generation;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE jobs RENAME COLUMN generation TO intent;
      ALTER TABLE jobs RENAME COLUMN applied_generation TO applied_intent;
    `);
  }
}
