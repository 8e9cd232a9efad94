import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Levels hold the learning rate too, so that a long curve of it can be drawn. The steps have had it all along. Buckets that exist get it with the next step of theirs
 * that comes: filling all of them would read every step of every job. An older API beside this one leaves the columns out, and `rates` is then 0.
 */
export class LevelLearningRates1796004000000 implements MigrationInterface {
  readonly name = 'LevelLearningRates1796004000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE step_levels
        ADD COLUMN rates integer NOT NULL DEFAULT 0,
        ADD COLUMN rate_sum double precision,
        ADD COLUMN rate_min double precision,
        ADD COLUMN rate_max double precision;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE step_levels DROP COLUMN rates, DROP COLUMN rate_sum, DROP COLUMN rate_min, DROP COLUMN rate_max',
    );
  }
}
