import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Counts changes of the spec by any client; If-Match compares a change with this number. `version` counts status too, and `generation` only requests
 * over the API.
 */
export class CountVersionsOfSpecs1795389000000 implements MigrationInterface {
  readonly name = 'CountVersionsOfSpecs1795389000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE jobs ADD COLUMN spec_version bigint NOT NULL DEFAULT 1');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE jobs DROP COLUMN spec_version');
  }
}
