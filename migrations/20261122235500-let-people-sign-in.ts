import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Roles of members of an issuer's groups, in a project or (no project) in the cluster; and sessions. `sealed_grant` is the grant with which groups are
 * read again. Its key can only be derived from the session's secret. An older API beside this one knows neither table.
 */
export class LetPeopleSignIn1795391700000 implements MigrationInterface {
  readonly name = 'LetPeopleSignIn1795391700000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE group_roles (
        id uuid PRIMARY KEY,
        cluster_id uuid NOT NULL REFERENCES clusters,
        project_id uuid,
        issuer text NOT NULL,
        group_name text NOT NULL,
        role text NOT NULL CHECK (role IN ('viewer', 'submitter', 'operator', 'admin', 'clusterAdmin')),
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT group_roles_project FOREIGN KEY (cluster_id, project_id) REFERENCES projects (cluster_id, id),
        CONSTRAINT groups_of_administrators_have_no_project CHECK ((role = 'clusterAdmin') = (project_id IS NULL))
      );
      CREATE UNIQUE INDEX group_roles_of_project ON group_roles (project_id, issuer, group_name) WHERE project_id IS NOT NULL;
      CREATE UNIQUE INDEX group_roles_of_cluster ON group_roles (cluster_id, issuer, group_name) WHERE project_id IS NULL;
      CREATE INDEX group_roles_by_group ON group_roles (cluster_id, issuer, group_name);

      CREATE TABLE sessions (
        id uuid PRIMARY KEY,
        cluster_id uuid NOT NULL REFERENCES clusters,
        principal_id uuid NOT NULL REFERENCES principals,
        kind text NOT NULL CHECK (kind IN ('page', 'commandLine')),
        prefix text NOT NULL UNIQUE,
        secret_sha256 bytea NOT NULL CHECK (length(secret_sha256) = 32),
        issuer text NOT NULL,
        groups text[] NOT NULL,
        groups_read_at timestamptz NOT NULL DEFAULT now(),
        reading_groups_at timestamptz,
        sealed_grant text,
        id_token_sha256 bytea UNIQUE,
        created_at timestamptz NOT NULL DEFAULT now(),
        last_used_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX sessions_of_principal ON sessions (principal_id, last_used_at);
      CREATE INDEX sessions_by_end ON sessions (expires_at);

      CREATE FUNCTION find_credentials(prefixes text[], cluster uuid, idle_minutes integer)
        RETURNS TABLE (source text, id uuid, principal_id uuid, kind text, name text, prefix text, secret_sha256 bytea, expires_at timestamptz,
                       last_used_at timestamptz, grants jsonb, person jsonb)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
          -- An API of the release before, beside this one, names no principal: its tokens stand for themselves.
          SELECT 'token', t.id, coalesce(t.principal_id, t.id), 'service', t.name, t.prefix, t.secret_sha256, t.expires_at, t.last_used_at,
                 jsonb_build_array(jsonb_build_object('id', t.project_id, 'name', p.name, 'role', t.role)), NULL::jsonb
            FROM public.api_tokens t LEFT JOIN public.projects p ON p.id = t.project_id
           WHERE t.prefix = ANY (prefixes) AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
             AND (t.project_id IS NULL OR p.cluster_id = cluster)
          UNION ALL
          SELECT s.kind, s.id, s.principal_id, w.kind, w.name, s.prefix, s.secret_sha256, s.expires_at, s.last_used_at,
                 (SELECT coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name, 'role', g.role)), '[]')
                    FROM public.group_roles g LEFT JOIN public.projects p ON p.id = g.project_id
                   WHERE g.cluster_id = s.cluster_id AND g.issuer = s.issuer AND g.group_name = ANY (s.groups)),
                 jsonb_build_object('issuer', s.issuer, 'subject', w.subject, 'groups', s.groups, 'groupsReadAt', s.groups_read_at)
            FROM public.sessions s JOIN public.principals w ON w.id = s.principal_id
           WHERE s.prefix = ANY (prefixes) AND s.cluster_id = cluster AND s.expires_at > now()
             AND (s.kind <> 'page' OR s.last_used_at > now() - make_interval(mins => idle_minutes))
        $$;
      CREATE FUNCTION touch_session(session uuid) RETURNS void
        LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
          UPDATE public.sessions SET last_used_at = now() WHERE id = session
        $$;
      REVOKE ALL ON FUNCTION find_credentials, touch_session FROM PUBLIC;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION touch_session, find_credentials; DROP TABLE sessions, group_roles');
  }
}
