import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the fabric of a cluster looked like (ADR 0091): a snapshot names its chunks of nodes by the SHA-256 of what they say, so that what did not change is kept
 * once. Found from the newest. An older API beside this one neither reads nor writes it.
 */
export class RecordFabrics1795660200000 implements MigrationInterface {
  readonly name = 'RecordFabrics1795660200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE fabric_chunks (
        cluster_id uuid NOT NULL REFERENCES clusters,
        sha256 bytea NOT NULL,
        nodes jsonb NOT NULL,
        PRIMARY KEY (cluster_id, sha256)
      );
      CREATE TABLE fabric_snapshots (
        id uuid PRIMARY KEY,
        cluster_id uuid NOT NULL REFERENCES clusters,
        taken_at timestamptz NOT NULL,
        seen_until timestamptz NOT NULL,
        sha256 bytea NOT NULL,
        chunks bytea[] NOT NULL,
        added_bytes integer NOT NULL,
        unrecorded_looks integer NOT NULL,
        counts jsonb NOT NULL,
        changes jsonb
      );
      CREATE INDEX fabric_snapshots_of_cluster ON fabric_snapshots (cluster_id, taken_at DESC, id DESC);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE fabric_snapshots, fabric_chunks');
  }
}
