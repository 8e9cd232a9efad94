import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What policies stand on: functions that tell the scope of a transaction (each is null or false without one), functions that answer before there is a
 * scope, and foreign keys that carry the tenant, since foreign keys are checked without policies. The policies themselves are made from
 * `libs/persistence/src/access/table-access.ts` after the migrations. An older API beside this one notices nothing.
 */
export class KnowTheScope1795390200000 implements MigrationInterface {
  readonly name = 'KnowTheScope1795390200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION scope_cluster() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
        RETURN nullif(current_setting('coxswain.cluster_id', true), '')::uuid;
      CREATE FUNCTION scope_projects() RETURNS uuid[] LANGUAGE sql STABLE PARALLEL SAFE
        RETURN string_to_array(nullif(current_setting('coxswain.project_ids', true), '*'), ',')::uuid[];
      CREATE FUNCTION scope_is_whole_cluster() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
        RETURN current_setting('coxswain.project_ids', true) IS NOT DISTINCT FROM '*';
      CREATE FUNCTION scope_principal() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
        RETURN nullif(current_setting('coxswain.principal_id', true), '')::uuid;

      CREATE FUNCTION find_tokens(prefixes text[])
        RETURNS TABLE (id uuid, principal_id uuid, name text, role text, prefix text, secret_sha256 bytea, expires_at timestamptz, last_used_at timestamptz,
                       project_id uuid, project_name text)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
          -- An API of the release before, beside this one, names no principal: its tokens stand for themselves.
          SELECT t.id, coalesce(t.principal_id, t.id), t.name, t.role, t.prefix, t.secret_sha256, t.expires_at, t.last_used_at, t.project_id, p.name
            FROM public.api_tokens t LEFT JOIN public.projects p ON p.id = t.project_id
           WHERE t.prefix = ANY (prefixes) AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
        $$;
      CREATE FUNCTION touch_token(token uuid) RETURNS void
        LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
          UPDATE public.api_tokens SET last_used_at = date_trunc('hour', now(), 'UTC')
           WHERE id = token AND (last_used_at IS NULL OR last_used_at < date_trunc('hour', now(), 'UTC'))
        $$;
      REVOKE ALL ON FUNCTION find_tokens, touch_token FROM PUBLIC;

      ALTER TABLE projects ADD CONSTRAINT projects_tenant UNIQUE (cluster_id, id);
      ALTER TABLE project_namespaces
        DROP CONSTRAINT project_namespaces_project_id_fkey,
        ADD CONSTRAINT project_namespaces_project FOREIGN KEY (cluster_id, project_id) REFERENCES projects (cluster_id, id);
      ALTER TABLE jobs
        DROP CONSTRAINT jobs_project_id_fkey,
        ADD CONSTRAINT jobs_project FOREIGN KEY (cluster_id, project_id) REFERENCES projects (cluster_id, id);
      ALTER TABLE api_tokens
        ADD CONSTRAINT api_tokens_tenant UNIQUE (project_id, id),
        ADD CONSTRAINT api_tokens_rotated_in_project FOREIGN KEY (project_id, rotated_from) REFERENCES api_tokens (project_id, id);
      ALTER TABLE principals ADD CONSTRAINT principals_tenant UNIQUE (project_id, id);
      ALTER TABLE api_tokens
        ADD CONSTRAINT api_tokens_principal_of_project FOREIGN KEY (project_id, principal_id) REFERENCES principals (project_id, id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_tokens DROP CONSTRAINT api_tokens_principal_of_project;
      ALTER TABLE principals DROP CONSTRAINT principals_tenant;
      ALTER TABLE api_tokens DROP CONSTRAINT api_tokens_rotated_in_project, DROP CONSTRAINT api_tokens_tenant;
      ALTER TABLE jobs DROP CONSTRAINT jobs_project, ADD CONSTRAINT jobs_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects;
      ALTER TABLE project_namespaces
        DROP CONSTRAINT project_namespaces_project, ADD CONSTRAINT project_namespaces_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects;
      ALTER TABLE projects DROP CONSTRAINT projects_tenant;
      DROP FUNCTION touch_token, find_tokens;
      DROP FUNCTION scope_principal, scope_is_whole_cluster, scope_projects, scope_cluster CASCADE;
    `);
  }
}
