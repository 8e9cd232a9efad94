import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Who asked from where, and what was not allowed. The cluster is that of the scope in which an entry is written; none: it is about all of them, as
 * administrators are. Entries are never changed, and removed only when they are older than a week. An older API beside this one goes on writing its own.
 */
export class RecordWhereRequestsCameFrom1795390800000 implements MigrationInterface {
  readonly name = 'RecordWhereRequestsCameFrom1795390800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE audit
        ADD COLUMN cluster_id uuid REFERENCES clusters,
        ADD COLUMN principal_kind text,
        ADD COLUMN outcome text NOT NULL DEFAULT 'allowed',
        ADD COLUMN reason text,
        ADD COLUMN requests integer NOT NULL DEFAULT 1,
        ADD COLUMN source_address text,
        ADD COLUMN user_agent text,
        ADD COLUMN request_id text,
        ALTER COLUMN principal DROP NOT NULL,
        ALTER COLUMN principal_name DROP NOT NULL,
        ADD CONSTRAINT audit_outcome CHECK (outcome IN ('allowed', 'denied')),
        ADD CONSTRAINT audit_entries_are_small CHECK (
          octet_length(target) + octet_length(detail::text) + coalesce(octet_length(user_agent), 0) + coalesce(octet_length(principal_name), 0) <= 16384
        ) NOT VALID;

      ALTER TABLE audit ALTER COLUMN cluster_id SET DEFAULT scope_cluster();
      UPDATE audit SET cluster_id = projects.cluster_id FROM projects WHERE projects.id = audit.project_id;

      DROP INDEX audit_by_time;
      CREATE INDEX audit_of_cluster ON audit (cluster_id, at DESC, id DESC);
      CREATE INDEX audit_of_project ON audit (project_id, at DESC, id DESC);
      CREATE INDEX audit_of_principal ON audit (principal_name, at DESC, id DESC);
      CREATE INDEX audit_of_object ON audit (target, at DESC, id DESC);
      CREATE INDEX audit_denied ON audit (cluster_id, at DESC, id DESC) WHERE outcome = 'denied';

      CREATE FUNCTION refuse_audit_changes() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'DELETE' AND OLD.at < now() - interval '7 days' THEN
          RETURN OLD;
        END IF;
        RAISE EXCEPTION 'the audit is append-only: % of it is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
      END $$;
      CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_audit_changes();
      CREATE TRIGGER audit_is_never_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_changes();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER audit_is_never_emptied ON audit;
      DROP TRIGGER audit_is_append_only ON audit;
      DROP FUNCTION refuse_audit_changes;
      DROP INDEX audit_of_cluster, audit_of_project, audit_of_principal, audit_of_object, audit_denied;
      DELETE FROM audit WHERE outcome = 'denied';
      ALTER TABLE audit
        DROP COLUMN cluster_id, DROP COLUMN principal_kind, DROP COLUMN outcome, DROP COLUMN reason, DROP COLUMN requests, DROP COLUMN source_address, DROP COLUMN user_agent,
        DROP COLUMN request_id, ALTER COLUMN principal SET NOT NULL, ALTER COLUMN principal_name SET NOT NULL;
      CREATE INDEX audit_by_time ON audit (at);
    `);
  }
}
