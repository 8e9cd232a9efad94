import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Loss and tokens at the step of a Checkpoint. An older API beside this one leaves the column as it is. The projection compares it with each object when a newer
 * API starts, so no statement fills it here.
 */
export class RecordProgressOfCheckpoints1795906800000 implements MigrationInterface {
  readonly name = 'RecordProgressOfCheckpoints1795906800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE checkpoints ADD COLUMN progress jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE checkpoints DROP COLUMN progress');
  }
}
