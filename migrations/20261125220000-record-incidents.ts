import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What went wrong with jobs, as their status tells of it and longer than that keeps it: of a job the newest 500. Written with the job's row and by its key, so that
 * projecting a resource again writes nothing twice. Listed by job, and by cluster from the newest. An older API beside this one neither reads nor writes it.
 */
export class RecordIncidents1795644000000 implements MigrationInterface {
  readonly name = 'RecordIncidents1795644000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE incidents (
        id bigserial PRIMARY KEY,
        cluster_id uuid NOT NULL REFERENCES clusters,
        job_id uuid NOT NULL REFERENCES jobs,
        key text NOT NULL,
        kind text NOT NULL,
        node text,
        noticed_at timestamptz NOT NULL,
        is_open boolean NOT NULL,
        incident jsonb NOT NULL,
        CONSTRAINT incidents_key UNIQUE (job_id, key)
      );
      CREATE INDEX incidents_of_job ON incidents (job_id, noticed_at DESC, id DESC);
      CREATE INDEX incidents_of_cluster ON incidents (cluster_id, noticed_at DESC, id DESC);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE incidents');
  }
}
