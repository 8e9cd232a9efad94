import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The groups of tensors of checkpoints, once for each geometry of a job: its saves mostly have the same one. They go with the record of the job. An older API
 * beside this one leaves them out of what it writes, and the projection adds them when a newer one starts.
 */
export class KeepTensorGroups1795896300000 implements MigrationInterface {
  readonly name = 'KeepTensorGroups1795896300000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE checkpoint_geometries (
        cluster_id uuid NOT NULL REFERENCES clusters,
        job_uid text NOT NULL,
        namespace text NOT NULL,
        geometry text NOT NULL,
        tensor_groups jsonb NOT NULL,
        PRIMARY KEY (cluster_id, job_uid, namespace, geometry)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE checkpoint_geometries');
  }
}
