import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Archives of code in the bucket. A row is there before its object, and stays until the object is removed, so that no object is forgotten. An older API beside this
 * one knows no such archives.
 */
export class RecordArchivesOfCode1795982400000 implements MigrationInterface {
  readonly name = 'RecordArchivesOfCode1795982400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE code_archives (
        cluster_id uuid NOT NULL REFERENCES clusters,
        project_id uuid NOT NULL,
        namespace text NOT NULL,
        sha256 text NOT NULL,
        bytes bigint NOT NULL,
        begun_at timestamptz NOT NULL DEFAULT now(),
        uploaded_at timestamptz,
        used_at timestamptz NOT NULL DEFAULT now(),
        removed_at timestamptz,
        CONSTRAINT code_archives_pkey PRIMARY KEY (cluster_id, project_id, namespace, sha256),
        CONSTRAINT code_archives_project FOREIGN KEY (cluster_id, project_id) REFERENCES projects (cluster_id, id)
      );
      CREATE INDEX code_archives_by_use ON code_archives (cluster_id, used_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE code_archives');
  }
}
