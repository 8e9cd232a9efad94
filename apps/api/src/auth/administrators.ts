import { randomUUID } from 'node:crypto';
import { DomainError } from '@coxswain/domain-error';
import { type Database, firstOf, type Sql } from '@coxswain/persistence';
import { recordAudit } from './audit.ts';
import type { Principal } from './principal.ts';
import { addServicePrincipal } from './principal-rows.ts';
import { type FreshToken, freshToken } from './token-format.ts';

/** One token of a cluster administrator, as it is stored. An administrator is a name; while a token is replaced there are two of it. */
export interface Administrator {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
  readonly is_good: boolean;
  readonly principal_id: string;
}

/** An administrator who was made or recovered, with the token that is shown this once. */
export interface AdministratorMade extends Administrator {
  readonly token: string;
}

/** Who is to be an administrator, and until when; null: until the token is revoked. */
export interface NewAdministrator {
  readonly name: string;
  readonly expiresAt: Date | null;
}

/** A user who can run a program beside the API: rights to its pod or its database are the proof. */
const BESIDE_THE_API: Principal = {
  id: '00000000-0000-0000-0000-000000000000',
  kind: 'command',
  name: 'a command beside the API',
  isClusterAdmin: true,
  memberships: [],
};

const IS_GOOD = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())';
const COLUMNS = `id, name, prefix, created_at, expires_at, last_used_at, (${IS_GOOD}) AS is_good,
  coalesce(principal_id, id) AS principal_id`;

/** Those that were not revoked, newest first; what has expired can still be recovered. */
export async function listAdministrators(sql: Sql): Promise<readonly Administrator[]> {
  const found = await sql.query<Administrator>(
    `SELECT ${COLUMNS} FROM api_tokens WHERE role = 'clusterAdmin' AND revoked_at IS NULL ORDER BY created_at DESC, id LIMIT 500`,
  );
  return found.rows;
}

/** NAME_TAKEN when somebody of that name is one already. */
export function createAdministrator(database: Database, wanted: NewAdministrator): Promise<AdministratorMade> {
  return alone(database, async (sql) => {
    const known = await listAdministrators(sql);
    if (known.some(({ name, is_good }) => is_good && name === wanted.name)) {
      const how = 'recover replaces the token, or choose another name';
      throw new DomainError('NAME_TAKEN', `"${wanted.name}" is an administrator already; ${how}`);
    }
    return insertAdministrator(sql, { ...wanted, action: 'administrator.create', succeeds: undefined });
  });
}

/**
 * Gives an administrator another token. The old ones are good for `overlapSeconds` more, never longer than they were; 0: they are revoked, as is
 * right for what was lost or seen by others.
 */
export function recoverAdministrator(
  database: Database,
  wanted: NewAdministrator & { readonly overlapSeconds: number },
): Promise<AdministratorMade> {
  return alone(database, async (sql) => {
    const known = await listAdministrators(sql);
    const [newest, ...older] = known.filter(({ name }) => name === wanted.name);
    if (newest === undefined) throw noSuch(wanted.name, known);
    const ids = [newest, ...older].map(({ id }) => id);
    await sql.query(
      wanted.overlapSeconds === 0
        ? 'UPDATE api_tokens SET revoked_at = now() WHERE id = ANY($1::uuid[])'
        : 'UPDATE api_tokens SET expires_at = least(expires_at, now() + make_interval(secs => $2)) WHERE id = ANY($1::uuid[])',
      wanted.overlapSeconds === 0 ? [ids] : [ids, wanted.overlapSeconds],
    );
    return insertAdministrator(sql, { ...wanted, action: 'administrator.recover', succeeds: newest });
  });
}

/** Revokes every token of that name, or the one of that id; CONFLICT when nobody would be left, unless `evenTheLast`. */
export function revokeAdministrator(
  database: Database,
  { nameOrId, evenTheLast }: { readonly nameOrId: string; readonly evenTheLast: boolean },
): Promise<readonly Administrator[]> {
  return alone(database, async (sql) => {
    const known = await listAdministrators(sql);
    const gone = known.filter(({ id, name }) => id === nameOrId || name === nameOrId);
    if (gone.length === 0) throw noSuch(nameOrId, known);
    const isSomebodyLeft = known.some((one) => one.is_good && !gone.includes(one));
    if (!isSomebodyLeft && !evenTheLast) {
      const how = 'make another one first, or say --even-the-last';
      throw new DomainError('CONFLICT', `without "${nameOrId}" there is no administrator whose token is good; ${how}`);
    }
    await sql.query('UPDATE api_tokens SET revoked_at = now() WHERE id = ANY($1::uuid[])', [gone.map(({ id }) => id)]);
    await audited(sql, { action: 'administrator.revoke', target: nameOrId, detail: { ids: gone.map(({ id }) => id) } });
    return gone;
  });
}

/**
 * Creates the first administrator if none has a valid token; undefined otherwise. `keep` gets the token before it becomes valid, so that a crash in
 * between leaves a useless copy and never loses a token.
 */
export function ensureAdministrator(
  database: Database,
  wanted: NewAdministrator & { readonly keep: (token: string) => void },
): Promise<Administrator | undefined> {
  return alone(database, async (sql) => {
    if ((await listAdministrators(sql)).some(({ is_good }) => is_good)) return undefined;
    const fresh = freshToken();
    wanted.keep(fresh.token);
    return insertAdministrator(sql, { ...wanted, action: 'administrator.bootstrap', succeeds: undefined, fresh });
  });
}

/** Administrators are changed by one transaction at a time: two that each remove the other one would leave none. */
function alone<T>(database: Database, work: (sql: Sql) => Promise<T>): Promise<T> {
  return database.transaction(async (sql) => {
    await sql.query("SELECT pg_advisory_xact_lock(hashtextextended('coxswain/bootstrap', 0))");
    return work(sql);
  });
}

async function insertAdministrator(
  sql: Sql,
  wanted: NewAdministrator & {
    readonly action: string;
    /** Whose principal it goes on to be. */
    readonly succeeds: Administrator | undefined;
    readonly fresh?: FreshToken;
  },
): Promise<AdministratorMade> {
  const fresh = wanted.fresh ?? freshToken();
  const rotatedFrom = wanted.succeeds?.id ?? null;
  const succeeded = wanted.succeeds === undefined ? {} : { id: wanted.succeeds.principal_id };
  const principalId = await addServicePrincipal(sql, { ...succeeded, name: wanted.name, projectId: null });
  const made = firstOf(
    await sql.query<Administrator>(
      `INSERT INTO api_tokens (id, project_id, name, role, prefix, secret_sha256, expires_at, rotated_from, principal_id)
       VALUES ($1, NULL, $2, 'clusterAdmin', $3, $4, $5, $6, $7) RETURNING ${COLUMNS}`,
      [randomUUID(), wanted.name, fresh.prefix, fresh.secretSha256, wanted.expiresAt, rotatedFrom, principalId],
    ),
  );
  if (made === undefined) throw new Error('INSERT … RETURNING gave no row');
  const detail = { id: made.id, expiresAt: made.expires_at, rotatedFrom };
  await audited(sql, { action: wanted.action, target: wanted.name, detail });
  return { ...made, token: fresh.token };
}

function audited(
  sql: Sql,
  entry: { readonly action: string; readonly target: string; readonly detail: Readonly<Record<string, unknown>> },
): Promise<void> {
  return recordAudit(sql, BESIDE_THE_API, { ...entry, projectId: null });
}

function noSuch(nameOrId: string, known: readonly Administrator[]): DomainError {
  const names = [...new Set(known.map(({ name }) => name))];
  const there = names.length === 0 ? 'there is none; create makes one' : `there are ${names.join(', ')}`;
  return new DomainError('NOT_FOUND', `no administrator "${nameOrId}": ${there}`);
}
