import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { CONNECT_DEADLINE_MS } from '../connect-deadline.ts';
import { toDatabaseError } from '../errors.ts';
import { QUEUE_SCHEMA } from './apply-access.ts';
import { scramVerifier } from './scram.ts';

/** Roles that log in. */
const LOGIN_ROLES = ['runtime', 'system', 'queue', 'migrator'] as const;
/** A database role that can log in. */
export type LoginRole = (typeof LOGIN_ROLES)[number];

/** Which roles to make, in the database that the URL names. */
export interface RolesWanted {
  /** Of a superuser, or of a role with CREATEROLE that owns the database. */
  readonly adminUrl: string;
  /** Of every name. Roles belong to the whole server: databases that share one need prefixes of their own. */
  readonly prefix: string;
  /** Ends the names of the roles that log in: a second set beside the first, while passwords are changed without a gap. */
  readonly suffix?: string | undefined;
  readonly passwordOf: (role: LoginRole) => string;
}

/** What was made. */
export interface RolesMade {
  readonly urls: Readonly<Record<LoginRole, string>>;
  /** Roles that owned tables before, and are members of the owner now, so that what still runs as them goes on. */
  readonly formerOwners: readonly string[];
}

/**
 * Makes the roles that are missing, gives all of them their settings and passwords, and hands tables that others own to the owner. Run twice it changes no
 * more than passwords. Policies and privileges on tables are the migrations' business.
 */
export async function makeRoles(wanted: RolesWanted): Promise<RolesMade> {
  const names = namesOf(wanted);
  const client = new Client({ connectionString: wanted.adminUrl, connectionTimeoutMillis: CONNECT_DEADLINE_MS });
  client.on('error', () => undefined); // The query in flight reports it.
  try {
    await client.connect();
    await client.query("BEGIN; SET LOCAL lock_timeout = '10s'");
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('coxswain/roles', 0))");
    await makeOwner(client, names.owner);
    for (const role of LOGIN_ROLES) await makeLogin(client, names[role], wanted.passwordOf(role));
    await setUp(client, names);
    const formerOwners = await takeOver(client, names.owner);
    await client.query('COMMIT');
    const url = (role: LoginRole): string => urlAs(wanted.adminUrl, names[role], wanted.passwordOf(role));
    const urls = { runtime: url('runtime'), system: url('system'), queue: url('queue'), migrator: url('migrator') };
    return { urls, formerOwners };
  } catch (error) {
    throw toDatabaseError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

type Names = Readonly<Record<LoginRole | 'owner', string>>;

function namesOf({ prefix, suffix = '' }: RolesWanted): Names {
  const name = (role: LoginRole): string => `${prefix}_${role}${suffix}`;
  const names = {
    owner: `${prefix}_owner`,
    runtime: name('runtime'),
    system: name('system'),
    queue: name('queue'),
    migrator: name('migrator'),
  };
  for (const one of Object.values(names)) {
    if (/^[a-z_][a-z0-9_]{0,62}$/.test(one)) continue;
    throw new Error(`"${one}" is no name for a role: use a letter, then letters, digits and _, at most 63 in all`);
  }
  return names;
}

async function isThere(client: Client, name: string): Promise<boolean> {
  return (await client.query('SELECT FROM pg_roles WHERE rolname = $1', [name])).rows.length > 0;
}

async function makeOwner(client: Client, name: string): Promise<void> {
  if (!(await isThere(client, name))) await client.query(`CREATE ROLE ${escapeIdentifier(name)} NOLOGIN`);
  const { rows } = await client.query<{ can: boolean }>("SELECT pg_has_role(current_user, $1, 'USAGE') AS can", [name]);
  // Only a member of a role can hand a table to it.
  if (rows[0]?.can !== true) await client.query(`GRANT ${escapeIdentifier(name)} TO CURRENT_USER`);
}

async function makeLogin(client: Client, name: string, password: string): Promise<void> {
  const verb = (await isThere(client, name)) ? 'ALTER' : 'CREATE';
  await client.query(`${verb} ROLE ${escapeIdentifier(name)} LOGIN PASSWORD ${escapeLiteral(scramVerifier(password))}`);
}

async function setUp(client: Client, names: Names): Promise<void> {
  const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name');
  const database = escapeIdentifier(rows[0]?.name ?? '');
  const quoted = (role: keyof Names): string => escapeIdentifier(names[role]);
  const logins = LOGIN_ROLES.map(quoted).join(', ');
  await client.query(
    [
      `GRANT ${quoted('owner')} TO ${quoted('migrator')}`,
      // What the migrator makes belongs to the owner: each of its sessions acts as the owner.
      `ALTER ROLE ${quoted('migrator')} IN DATABASE ${database} SET role = ${escapeLiteral(names.owner)}`,
      `ALTER ROLE ${quoted('migrator')} SET statement_timeout = 0`,
      `ALTER ROLE ${quoted('migrator')} SET lock_timeout = '3s'`,
      ...(['runtime', 'system', 'queue'] as const).flatMap((role) => [
        `ALTER ROLE ${quoted(role)} SET idle_in_transaction_session_timeout = '15s'`,
      ]),
      ...(['runtime', 'system'] as const).map((role) => `ALTER ROLE ${quoted(role)} SET statement_timeout = '5s'`),
      `GRANT CONNECT ON DATABASE ${database} TO ${logins}`,
      // For the schema of the queue.
      `GRANT CREATE ON DATABASE ${database} TO ${quoted('owner')}`,
      'REVOKE CREATE ON SCHEMA public FROM PUBLIC',
      `GRANT USAGE, CREATE ON SCHEMA public TO ${quoted('owner')}`,
    ].join(';\n'),
  );
}

/** Tables, their sequences and functions of an installation that had one role for everything. */
async function takeOver(client: Client, owner: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ statement: string; former: string }>(FOREIGN_OBJECTS, [
    owner,
    ['public', QUEUE_SCHEMA],
  ]);
  const former = [...new Set(rows.map((row) => row.former))];
  const members = await client.query<{ name: string }>(
    'SELECT rolname::text AS name FROM pg_roles WHERE rolname = ANY ($1::text[]) AND NOT rolsuper',
    [former],
  );
  const to = escapeIdentifier(owner);
  for (const { name } of members.rows) await client.query(`GRANT ${to} TO ${escapeIdentifier(name)}`);
  for (const { statement } of rows) await client.query(`ALTER ${statement} OWNER TO ${to}`);
  return members.rows.map(({ name }) => name);
}

/** Not what comes with an extension, nor sequences of a column, which go with it. */
const FOREIGN_OBJECTS = `
  WITH spaces AS (SELECT oid, nspname, nspowner FROM pg_namespace WHERE nspname = ANY ($2::text[])),
  -- A partitioned table depends on its own columns.
  kept AS (SELECT classid, objid FROM pg_depend
            WHERE deptype = 'e' OR (deptype IN ('a', 'i') AND classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass AND refobjid <> objid)),
  things AS (
    SELECT 1 AS turn, format('SCHEMA %I', nspname) AS statement, nspowner AS owner FROM spaces WHERE nspname <> 'public'
    UNION ALL
    SELECT 2, format('%s %I.%I', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END,
                     nspname, c.relname), c.relowner
      FROM pg_class c JOIN spaces ON spaces.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S')
       AND (c.relispartition OR NOT EXISTS (SELECT FROM kept WHERE classid = 'pg_class'::regclass AND objid = c.oid))
    UNION ALL
    SELECT 3, format('ROUTINE %s', f.oid::regprocedure), f.proowner FROM pg_proc f JOIN spaces ON spaces.oid = f.pronamespace
     WHERE NOT EXISTS (SELECT FROM kept WHERE classid = 'pg_proc'::regclass AND objid = f.oid)
    UNION ALL
    SELECT 4, format('TYPE %I.%I', nspname, typname), typowner FROM pg_type JOIN spaces ON spaces.oid = typnamespace
     WHERE typtype IN ('e', 'd'))
  SELECT statement, pg_get_userbyid(owner)::text AS former FROM things WHERE pg_get_userbyid(owner) <> $1 ORDER BY turn, statement`;

function urlAs(adminUrl: string, user: string, password: string): string {
  const url = new URL(adminUrl);
  url.username = user;
  url.password = password;
  return url.href;
}
