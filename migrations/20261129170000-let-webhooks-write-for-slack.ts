import type { MigrationInterface, QueryRunner } from 'typeorm';

/** In which form messages to an endpoint are written. The release before inserts endpoints without the column, and writes all messages in its one form. */
export class LetWebhooksWriteForSlack1795971600000 implements MigrationInterface {
  readonly name = 'LetWebhooksWriteForSlack1795971600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query("ALTER TABLE webhooks ADD COLUMN form text NOT NULL DEFAULT 'Standard'");
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhooks DROP COLUMN form');
  }
}
