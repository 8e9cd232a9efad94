import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Roles of service accounts and of groups of Kubernetes, beside those of the issuer's groups and never to be taken for them: the kind stands in the row and in
 * its keys, and only a group of an issuer has one. An older API beside this one gives roles to those alone, and finds no others: it compares issuers.
 */
export class LetServiceAccountsIn1795410000000 implements MigrationInterface {
  readonly name = 'LetServiceAccountsIn1795410000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE group_roles
        ADD COLUMN kind text NOT NULL DEFAULT 'group' CONSTRAINT group_roles_kind CHECK (kind IN ('group', 'kubernetesGroup', 'serviceAccount')),
        ADD CONSTRAINT only_groups_of_people_have_an_issuer CHECK ((kind = 'group') = (issuer <> ''));
      DROP INDEX group_roles_of_project, group_roles_of_cluster;
      CREATE UNIQUE INDEX group_roles_of_project ON group_roles (project_id, kind, issuer, group_name) WHERE project_id IS NOT NULL;
      CREATE UNIQUE INDEX group_roles_of_cluster ON group_roles (cluster_id, kind, issuer, group_name) WHERE project_id IS NULL;

      CREATE FUNCTION find_service_account(cluster uuid, username text, groups text[]) RETURNS TABLE (id uuid, grants jsonb)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
          SELECT (SELECT w.id FROM public.principals w WHERE w.issuer = 'kubernetes:' || cluster AND w.subject = username),
                 (SELECT coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name, 'role', g.role)), '[]')
                    FROM public.group_roles g LEFT JOIN public.projects p ON p.id = g.project_id
                   WHERE g.cluster_id = cluster AND g.issuer = ''
                     AND ((g.kind = 'serviceAccount' AND g.group_name = username) OR (g.kind = 'kubernetesGroup' AND g.group_name = ANY (groups))))
        $$;
      CREATE FUNCTION record_service_account(cluster uuid, username text) RETURNS TABLE (id uuid)
        LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
          INSERT INTO public.principals (id, kind, issuer, subject, name)
          VALUES (gen_random_uuid(), 'serviceAccount', 'kubernetes:' || cluster, username, username)
          ON CONFLICT (issuer, subject) DO UPDATE SET name = excluded.name RETURNING principals.id
        $$;
      REVOKE ALL ON FUNCTION find_service_account, record_service_account FROM PUBLIC;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION record_service_account, find_service_account;
      DELETE FROM group_roles WHERE kind <> 'group';
      DROP INDEX group_roles_of_project, group_roles_of_cluster;
      CREATE UNIQUE INDEX group_roles_of_project ON group_roles (project_id, issuer, group_name) WHERE project_id IS NOT NULL;
      CREATE UNIQUE INDEX group_roles_of_cluster ON group_roles (cluster_id, issuer, group_name) WHERE project_id IS NULL;
      ALTER TABLE group_roles DROP COLUMN kind;
    `);
  }
}
