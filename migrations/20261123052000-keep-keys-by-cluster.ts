import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A person, or an administrator, is the same principal in all clusters that share a database: a request to one is no repetition of a request to another.
 *
 * Older keys belong to the cluster of their principal’s project, or to the only cluster. For other keys the cluster is unknown, and they are deleted a day
 * early. An older API beside this one finds no constraint that it names: until it is replaced it does nothing that is
 * asked for under a key, and answers 500. Nothing was released before this.
 */
export class KeepKeysByCluster1795411200000 implements MigrationInterface {
  readonly name = 'KeepKeysByCluster1795411200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE idempotency_keys ADD COLUMN cluster_id uuid REFERENCES clusters;
      UPDATE idempotency_keys k SET cluster_id = coalesce(
        (SELECT p.cluster_id FROM principals o JOIN projects p ON p.id = o.project_id WHERE o.id = k.principal),
        (SELECT min(id::text)::uuid FROM clusters HAVING count(*) = 1));
      DELETE FROM idempotency_keys WHERE cluster_id IS NULL;
      ALTER TABLE idempotency_keys
        ALTER COLUMN cluster_id SET NOT NULL,
        DROP CONSTRAINT idempotency_keys_pkey,
        ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (cluster_id, principal, key);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM idempotency_keys k WHERE EXISTS (
        SELECT 1 FROM idempotency_keys o WHERE o.principal = k.principal AND o.key = k.key AND o.cluster_id < k.cluster_id);
      ALTER TABLE idempotency_keys
        DROP CONSTRAINT idempotency_keys_pkey,
        DROP COLUMN cluster_id CASCADE,
        ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (principal, key);
    `);
  }
}
