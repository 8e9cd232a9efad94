import { Client } from 'pg';
import { CONNECT_DEADLINE_MS } from '../connect-deadline.ts';
import { toDatabaseError } from '../errors.ts';
import type { AccessRoles } from './apply-access.ts';

/** What the role of requests is and may become. */
export interface RoleFacts {
  readonly name: string;
  readonly isSuperuser: boolean;
  readonly bypassesPolicies: boolean;
  /** A table, or the place of tables, that it owns itself or as a member of the owner. */
  readonly owned: string | null;
  /** It is the role that sees every row, or a member of it. */
  readonly isSystem: boolean;
  /** There are policies, and none lets it see rows without a scope. */
  readonly seesNothing: boolean;
}

/** Why policies would not bind the role; undefined when they do. The end of a sentence that names the role. */
export function roleProblem({ isSuperuser, bypassesPolicies, owned, isSystem }: RoleFacts): string | undefined {
  if (isSuperuser) return 'is a superuser, whom no policy binds';
  if (bypassesPolicies) return 'has BYPASSRLS, so that no policy binds it';
  if (isSystem) return 'is the role of the system, which sees every project';
  if (owned !== null) return `owns ${owned} (or is a member of its owner), and could take the policies away`;
  return undefined;
}

/** The roles that the URLs log in as, as the server names them. */
export async function namesOfRoles(urls: Readonly<Record<keyof AccessRoles, string>>): Promise<AccessRoles> {
  const [runtime, system, queue] = await Promise.all(
    [urls.runtime, urls.system, urls.queue].map((url) =>
      ask(url, async (client) => {
        const { rows } = await client.query<{ name: string }>('SELECT current_user::text AS name');
        return rows[0]?.name ?? '';
      }),
    ),
  );
  return { runtime: runtime ?? '', system: system ?? '', queue: queue ?? '' };
}

/** Looks at the role that `url` logs in as. What it logged in as counts as much as what it acts as: it can go back. */
export function roleFacts(url: string, system: string): Promise<RoleFacts> {
  return ask(url, async (client) => {
    const { rows } = await client.query<RoleFacts>(FACTS, [system]);
    const [facts] = rows;
    if (facts === undefined) throw new Error('the server does not know the role that is logged in');
    return facts;
  });
}

const FACTS = `
  WITH me AS (SELECT oid, rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname IN (current_user, session_user)),
  things AS (
    SELECT 'the table ' || c.relname AS thing, c.relowner AS owner FROM pg_class c
     WHERE c.relkind IN ('r', 'p', 'v', 'm') AND c.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'bullmq'))
    UNION ALL
    SELECT 'the schema ' || nspname, nspowner FROM pg_namespace WHERE nspname IN ('public', 'bullmq')
    UNION ALL
    SELECT 'the database ' || datname, datdba FROM pg_database WHERE datname = current_database())
  SELECT current_user::text AS name, bool_or(rolsuper) AS "isSuperuser", bool_or(rolbypassrls) AS "bypassesPolicies",
         (SELECT min(thing) FROM things WHERE EXISTS (SELECT FROM me WHERE pg_has_role(me.oid, things.owner, 'MEMBER'))) AS owned,
         bool_or(pg_has_role(oid, $1, 'MEMBER')) AS "isSystem",
         NOT bool_or(rolsuper OR rolbypassrls) AND EXISTS (
           SELECT FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE p.polname = 'system' AND c.relforcerowsecurity
              AND NOT EXISTS (SELECT FROM unnest(p.polroles) AS of (role) WHERE pg_has_role(current_user, of.role, 'USAGE'))) AS "seesNothing"
    FROM me`;

async function ask<T>(url: string, question: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_DEADLINE_MS });
  client.on('error', () => undefined); // The query in flight reports it.
  try {
    await client.connect();
    return await question(client);
  } catch (error) {
    throw toDatabaseError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}
