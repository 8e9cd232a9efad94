import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the status of a Checkpoint says of its bytes, and each verification of it. An older API beside this one writes neither. The projection compares these
 * columns with each object when the API starts, so no statement fills them here.
 */
export class RecordWhatCheckpointsHold1795884000000 implements MigrationInterface {
  readonly name = 'RecordWhatCheckpointsHold1795884000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE checkpoints
        ADD COLUMN verification jsonb,
        ADD COLUMN contents jsonb,
        ADD COLUMN pin text,
        ADD COLUMN is_suspect boolean;
      CREATE TABLE checkpoint_verifications (
        cluster_id uuid NOT NULL,
        checkpoint_uid text NOT NULL,
        namespace text NOT NULL,
        verified_at timestamptz NOT NULL,
        verification jsonb NOT NULL,
        PRIMARY KEY (cluster_id, checkpoint_uid, verified_at),
        FOREIGN KEY (cluster_id, checkpoint_uid) REFERENCES checkpoints (cluster_id, uid) ON DELETE CASCADE
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE checkpoint_verifications;
      ALTER TABLE checkpoints DROP COLUMN verification, DROP COLUMN contents, DROP COLUMN pin, DROP COLUMN is_suspect;
    `);
  }
}
