import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Whose a credential is. Tokens that were made before belong to a service each, whose id is that of the first token of the row in which one succeeded
 * the other: what audit and idempotency keys say of it stays true. An older API beside this one makes tokens without a principal, which then stand for
 * themselves. `jobs.submitted_by` is null for jobs that were made in the cluster or before this.
 */
export class NamePrincipals1795388400000 implements MigrationInterface {
  readonly name = 'NamePrincipals1795388400000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE principals (
        id uuid PRIMARY KEY,
        kind text NOT NULL CHECK (kind IN ('person', 'service', 'serviceAccount')),
        issuer text NOT NULL,
        subject text NOT NULL,
        name text NOT NULL,
        project_id uuid REFERENCES projects,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT principals_subject UNIQUE (issuer, subject),
        CONSTRAINT only_services_are_of_a_project CHECK (kind = 'service' OR project_id IS NULL)
      );

      ALTER TABLE api_tokens ADD COLUMN principal_id uuid REFERENCES principals;
      INSERT INTO principals (id, kind, issuer, subject, name, project_id, created_at)
        SELECT id, 'service', '', id::text, name, project_id, created_at FROM api_tokens WHERE rotated_from IS NULL;
      WITH RECURSIVE succession AS (
        SELECT id, id AS first_id FROM api_tokens WHERE rotated_from IS NULL
        UNION ALL
        SELECT t.id, s.first_id FROM api_tokens t JOIN succession s ON t.rotated_from = s.id
      )
      UPDATE api_tokens t SET principal_id = s.first_id FROM succession s WHERE s.id = t.id;

      ALTER TABLE api_tokens DROP CONSTRAINT api_tokens_role_check;
      ALTER TABLE api_tokens ADD CONSTRAINT api_tokens_role_check
        CHECK (role IN ('viewer', 'submitter', 'operator', 'admin', 'clusterAdmin'));

      ALTER TABLE jobs ADD COLUMN submitted_by uuid;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE jobs DROP COLUMN submitted_by;
      DELETE FROM api_tokens WHERE role = 'submitter';
      ALTER TABLE api_tokens DROP CONSTRAINT api_tokens_role_check;
      ALTER TABLE api_tokens ADD CONSTRAINT api_tokens_role_check CHECK (role IN ('viewer', 'operator', 'admin', 'clusterAdmin'));
      ALTER TABLE api_tokens DROP COLUMN principal_id;
      DROP TABLE principals;
    `);
  }
}
