import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which token another one succeeds. An older API beside this one leaves the column alone: its tokens succeed nobody. */
export class RecordRotatedTokens1795375800000 implements MigrationInterface {
  readonly name = 'RecordRotatedTokens1795375800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_tokens ADD COLUMN rotated_from uuid REFERENCES api_tokens');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_tokens DROP COLUMN rotated_from');
  }
}
