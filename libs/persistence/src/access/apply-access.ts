import { createHash } from 'node:crypto';
import { type Client, escapeIdentifier, escapeLiteral } from 'pg';
import { DATABASE_FUNCTIONS } from './functions.ts';
import { PRIVILEGES, SYSTEM_PRIVILEGES, TABLE_ACCESS } from './table-access.ts';

/** Names of the roles that use the database. The owner of the tables owns the database. */
export interface AccessRoles {
  /** Serves requests, and sees the rows of a scope. */
  readonly runtime: string;
  /** Mirrors the cluster and carries jobs to it; sees every row, by policies that say so. */
  readonly system: string;
  /** Uses the queue's schema and nothing else. */
  readonly queue: string;
}

/** The queue's tables are its library's; it keeps them in a schema of their own. */
export const QUEUE_SCHEMA = 'bullmq';

interface TableState {
  readonly name: string;
  readonly owner: string;
  readonly is_forced: boolean;
  /** Of the policy for requests: what it was made from. */
  readonly tenant_mark: string | null;
  /** Whom the policy for the system names; null when there is none. */
  readonly system_roles: readonly string[] | null;
  readonly runtime_privileges: readonly string[];
  readonly system_privileges: readonly string[];
}

/**
 * Brings policies and privileges to what `TABLE_ACCESS` says. It looks first and changes what differs, table by table: a change locks its table for a
 * moment, and most starts change nothing. Roles that it does not know keep what they have, so that two sets of roles can be in use while one follows the
 * other.
 */
export async function applyAccess(client: Client, roles: AccessRoles): Promise<void> {
  const names = Object.keys(TABLE_ACCESS);
  const { rows } = await client.query<TableState>(TABLE_STATES, [names, roles.runtime, roles.system]);
  const states = new Map(rows.map((state) => [state.name, state]));
  for (const name of names) {
    const state = states.get(name);
    if (state === undefined) throw new Error(`TABLE_ACCESS names "${name}", and no migration has made such a table`);
    await atOnce(client, tableStatements(state, roles));
  }
  await atOnce(client, await schemaStatements(client, roles));
}

/** A table's relation, flags, policies and privileges; system_roles in the order of their names. */
const TABLE_STATES = `
  SELECT c.relname AS name, pg_get_userbyid(c.relowner)::text AS owner, c.relrowsecurity AND c.relforcerowsecurity AS is_forced,
         (SELECT obj_description(p.oid, 'pg_policy') FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'tenant') AS tenant_mark,
         (SELECT ARRAY(SELECT r.rolname::text FROM pg_roles r WHERE r.oid = ANY (p.polroles) ORDER BY 1)
            FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'system') AS system_roles,
         ARRAY(SELECT a.privilege_type FROM aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
                WHERE r.rolname = $2 ORDER BY 1) AS runtime_privileges,
         ARRAY(SELECT a.privilege_type FROM aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
                WHERE r.rolname = $3 ORDER BY 1) AS system_privileges
    FROM pg_class c
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname = ANY ($1::text[])`;

function tableStatements(state: TableState, roles: AccessRoles): readonly string[] {
  const table = escapeIdentifier(state.name);
  const { requests, rows, writes } = TABLE_ACCESS[state.name] ?? { requests: 'none' };
  return [
    ...(state.is_forced ? [] : [`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`]),
    ...tenantPolicy(table, { rows, writes }, state.tenant_mark),
    ...systemPolicy(table, state, roles.system),
    ...grants(table, { role: roles.runtime, has: state.runtime_privileges, wanted: PRIVILEGES[requests] }),
    ...grants(table, { role: roles.system, has: state.system_privileges, wanted: SYSTEM_PRIVILEGES }),
  ];
}

/** For every role: what it sees is decided by the scope, so a role that nobody thought of finds nothing. */
function tenantPolicy(
  table: string,
  { rows, writes = rows }: { readonly rows?: string | undefined; readonly writes?: string | undefined },
  mark: string | null,
): readonly string[] {
  const source = rows === writes ? rows : `${rows} / ${writes}`;
  const wanted = source === undefined ? null : `made from ${createHash('sha256').update(source).digest('hex')}`;
  if (wanted === mark) return [];
  const drop = `DROP POLICY IF EXISTS tenant ON ${table}`;
  if (rows === undefined || wanted === null) return [drop];
  return [
    drop,
    `CREATE POLICY tenant ON ${table} FOR ALL TO PUBLIC USING (${rows}) WITH CHECK (${writes})`,
    `COMMENT ON POLICY tenant ON ${table} IS ${escapeLiteral(wanted)}`,
  ];
}

/** The owner too: migrations fill columns, and functions of the owner look tokens up. Nobody logs in as the owner. */
function systemPolicy(table: string, { owner, system_roles: named }: TableState, system: string): readonly string[] {
  const wanted = [...new Set([...(named ?? []), owner, system])];
  if (named !== null && wanted.length === named.length) return [];
  const to = wanted.map((role) => escapeIdentifier(role)).join(', ');
  return [
    named === null
      ? `CREATE POLICY system ON ${table} FOR ALL TO ${to} USING (true) WITH CHECK (true)`
      : `ALTER POLICY system ON ${table} TO ${to}`,
  ];
}

function grants(
  table: string,
  { role, has, wanted }: { readonly role: string; readonly has: readonly string[]; readonly wanted: readonly string[] },
): readonly string[] {
  if (has.join() === wanted.join()) return [];
  const to = escapeIdentifier(role);
  const grant = wanted.length === 0 ? [] : [`GRANT ${wanted.join(', ')} ON ${table} TO ${to}`];
  return [`REVOKE ALL ON ${table} FROM ${to}`, ...grant];
}

async function schemaStatements(client: Client, roles: AccessRoles): Promise<readonly string[]> {
  const [runtime, system, queue] = [roles.runtime, roles.system, roles.queue].map((role) => escapeIdentifier(role));
  const called = Object.entries(DATABASE_FUNCTIONS).flatMap(([name, { caller }]) => [
    `REVOKE ALL ON FUNCTION ${name} FROM PUBLIC`,
    // PostgreSQL asks for no right to call the function of a trigger.
    ...(caller === 'trigger'
      ? []
      : [`GRANT EXECUTE ON FUNCTION ${name} TO ${caller === 'runtime' ? runtime : system}`]),
  ]);
  const { rows } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [QUEUE_SCHEMA]);
  return [
    `GRANT USAGE ON SCHEMA public TO ${runtime}, ${system}`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${runtime}, ${system}`,
    ...called,
    ...(rows.length === 0
      ? []
      : [
          `GRANT USAGE ON SCHEMA ${QUEUE_SCHEMA} TO ${queue}`,
          `GRANT ${SYSTEM_PRIVILEGES.join(', ')} ON ALL TABLES IN SCHEMA ${QUEUE_SCHEMA} TO ${queue}`,
          `GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA ${QUEUE_SCHEMA} TO ${queue}`,
          `GRANT EXECUTE ON ALL ROUTINES IN SCHEMA ${QUEUE_SCHEMA} TO ${queue}`,
        ]),
  ];
}

/** One message is one transaction. */
async function atOnce(client: Client, statements: readonly string[]): Promise<void> {
  if (statements.length > 0) await client.query(statements.join(';\n'));
}
