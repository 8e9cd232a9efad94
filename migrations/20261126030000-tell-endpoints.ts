import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Webhook endpoints of projects, and the messages to them. A message is a row until it has arrived or was given up; its endpoint is leased to one attempt
 * at a time. Secrets are sealed with a key that stands in `settings`, which requests cannot read. Messages go with their endpoint. An older API beside this one
 * neither reads nor writes them: what it projects causes no message.
 */
export class TellEndpoints1795662000000 implements MigrationInterface {
  readonly name = 'TellEndpoints1795662000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE webhooks (
        id uuid PRIMARY KEY,
        cluster_id uuid NOT NULL REFERENCES clusters,
        project_id uuid NOT NULL,
        url text NOT NULL,
        events text[] NOT NULL,
        sealed_secret text NOT NULL,
        sealed_previous_secret text,
        previous_secret_until timestamptz,
        failures integer NOT NULL DEFAULT 0,
        failing_since timestamptz,
        disabled_at timestamptz,
        disabled_reason text,
        left_out bigint NOT NULL DEFAULT 0,
        served_at timestamptz,
        leased_until timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT webhooks_tenant UNIQUE (cluster_id, project_id, id),
        CONSTRAINT webhooks_project FOREIGN KEY (cluster_id, project_id) REFERENCES projects (cluster_id, id)
      );
      CREATE TABLE webhook_deliveries (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        cluster_id uuid NOT NULL REFERENCES clusters,
        project_id uuid NOT NULL,
        webhook_id uuid NOT NULL,
        event text NOT NULL,
        body text NOT NULL,
        state text NOT NULL DEFAULT 'waiting' CONSTRAINT webhook_deliveries_state CHECK (state IN ('waiting', 'delivered', 'failed')),
        attempts integer NOT NULL DEFAULT 0,
        next_attempt_at timestamptz NOT NULL DEFAULT now(),
        last_outcome text,
        created_at timestamptz NOT NULL DEFAULT now(),
        ended_at timestamptz,
        CONSTRAINT webhook_deliveries_webhook FOREIGN KEY (cluster_id, project_id, webhook_id)
          REFERENCES webhooks (cluster_id, project_id, id) ON DELETE CASCADE
      );
      CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, next_attempt_at) WHERE state = 'waiting';
      CREATE INDEX webhook_deliveries_of_webhook ON webhook_deliveries (webhook_id, created_at DESC, id DESC);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE webhook_deliveries, webhooks');
  }
}
