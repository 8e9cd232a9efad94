import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What retention decided about a Checkpoint, whether it is being deleted, and whether its files are gone. An older API beside this one leaves the column as it
 * is. The projection compares it with each object when a newer API starts, so no statement fills it here.
 */
export class RecordWhatRetentionDecided1795898700000 implements MigrationInterface {
  readonly name = 'RecordWhatRetentionDecided1795898700000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE checkpoints ADD COLUMN retention jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE checkpoints DROP COLUMN retention');
  }
}
