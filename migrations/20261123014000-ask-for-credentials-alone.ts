import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Who asks is found by `find_credentials`, which knows the cluster; `find_tokens` found tokens of every cluster, and nothing calls it. Requests of a
 * session that come together after a quiet minute write its row once, and do not wait for each other to write the same.
 */
export class AskForCredentialsAlone1795398000000 implements MigrationInterface {
  readonly name = 'AskForCredentialsAlone1795398000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION find_tokens;
      CREATE OR REPLACE FUNCTION touch_session(session uuid) RETURNS void
        LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
          UPDATE public.sessions SET last_used_at = now() WHERE id = session AND last_used_at < now() - interval '1 minute'
        $$;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE OR REPLACE FUNCTION touch_session(session uuid) RETURNS void
        LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
          UPDATE public.sessions SET last_used_at = now() WHERE id = session
        $$;
      CREATE FUNCTION find_tokens(prefixes text[])
        RETURNS TABLE (id uuid, principal_id uuid, name text, role text, prefix text, secret_sha256 bytea, expires_at timestamptz, last_used_at timestamptz,
                       project_id uuid, project_name text)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
          SELECT t.id, coalesce(t.principal_id, t.id), t.name, t.role, t.prefix, t.secret_sha256, t.expires_at, t.last_used_at, t.project_id, p.name
            FROM public.api_tokens t LEFT JOIN public.projects p ON p.id = t.project_id
           WHERE t.prefix = ANY (prefixes) AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
        $$;
      REVOKE ALL ON FUNCTION find_tokens FROM PUBLIC;
    `);
  }
}
