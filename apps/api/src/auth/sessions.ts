import { createHash, randomUUID } from 'node:crypto';
import { DomainError } from '@coxswain/domain-error';
import { type Database, firstOf, isUniqueViolation, type Sql } from '@coxswain/persistence';
import type { IssuerGrant, SignedIn } from '../identity/issuer.ts';
import { keyOf, seal, unseal } from '../identity/seal.ts';
import { AccessDenied } from './access-denied.ts';
import { recordAudit } from './audit.ts';
import type { Grant } from './grants.ts';
import type { Principal } from './principal.ts';
import type { RequestOrigin } from './request-origin.ts';
import { type FreshToken, freshToken } from './token-format.ts';

/** Sessions of one person, page and command line together; one more ends the one that was unused for longest. */
export const MAX_SESSIONS_OF_PERSON = 20;

/** What is needed to let somebody in. */
export interface NewSession {
  readonly clusterId: string;
  readonly kind: 'page' | 'commandLine';
  readonly signedIn: SignedIn;
  readonly expiresAt: Date;
  /** It is accepted once, so that a copy of it cannot be used to sign in again. */
  readonly idToken?: string | undefined;
  readonly origin: RequestOrigin;
  /** The installation's group of cluster administrators. */
  readonly adminGroup: string | undefined;
}

/** A session that has begun, with the secret that is shown this once. */
export interface SessionBegun {
  readonly id: string;
  readonly token: string;
  readonly name: string;
}

/** Lets a person in who has proven who he is. FORBIDDEN when none of his groups has a role here. */
export async function beginSession(database: Database, wanted: NewSession): Promise<SessionBegun> {
  const { signedIn, kind } = wanted;
  const fresh = freshToken();
  const sealedGrant = await sealGrant(fresh.token, signedIn.grant, wanted.expiresAt);
  try {
    return await database.transaction(async (sql) => {
      await requireSomeRole(sql, wanted);
      const principal = await person(sql, signedIn);
      await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 4))', [principal.id]);
      const actor = { ...principal, origin: wanted.origin };
      await makeRoom(sql, actor);
      const id = await insertSession(sql, wanted, { principal, fresh, sealedGrant });
      const { clusterId } = wanted;
      await recordAudit(sql, actor, {
        action: 'session.begin',
        target: id,
        projectId: null,
        clusterId,
        detail: { kind },
      });
      return { id, token: fresh.token, name: principal.name };
    });
  } catch (error) {
    if (!isUniqueViolation(error, 'sessions_id_token_sha256_key')) throw error;
    throw new DomainError('UNAUTHENTICATED', 'this ID token was used before; sign in again');
  }
}

/** Ends a session; its row stays until the ID token that began it is too old to begin another. */
export async function endSession(
  sql: Sql,
  session: { readonly id: string; readonly principal: Principal; readonly why: 'asked' | 'issuer' },
): Promise<void> {
  const ended = await sql.query<{ cluster_id: string }>(
    'UPDATE sessions SET expires_at = now(), sealed_grant = NULL WHERE id = $1 AND expires_at > now() RETURNING cluster_id',
    [session.id],
  );
  const clusterId = firstOf(ended)?.cluster_id;
  // Somebody else was faster: there is nothing left to tell.
  if (clusterId === undefined) return;
  await recordEnd(sql, session.principal, { id: session.id, clusterId, why: session.why });
}

function recordEnd(
  sql: Sql,
  principal: Principal,
  {
    id,
    clusterId,
    why,
  }: { readonly id: string; readonly clusterId: string; readonly why: 'asked' | 'issuer' | 'room' },
): Promise<void> {
  return recordAudit(sql, principal, {
    action: 'session.end',
    target: id,
    projectId: null,
    clusterId,
    detail: { why },
  });
}

/** Removes some of those that ended an hour ago, and gives how many there were. */
export async function removeEndedSessions(sql: Sql, batch: number): Promise<number> {
  const { affected } = await sql.query(
    `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at < now() - interval '1 hour' LIMIT $1)`,
    [batch],
  );
  return affected;
}

/** What groups are read again with, sealed so that the database alone gives it to nobody. */
export function sealGrant(token: string, grant: IssuerGrant, until: Date): Promise<string> {
  return seal({ ...grant }, { key: keyOf(token, 'issuer-grant'), until });
}

/** Undefined when the secret is another. */
export async function unsealGrant(token: string, sealed: string, now: Date): Promise<IssuerGrant | undefined> {
  return (await unseal(sealed, { key: keyOf(token, 'issuer-grant'), now })) as IssuerGrant | undefined;
}

/** Grants of groups, as the table says now. */
async function requireSomeRole(sql: Sql, { clusterId, signedIn, adminGroup }: NewSession): Promise<void> {
  const { issuer, groups } = signedIn.identity;
  if (adminGroup !== undefined && groups.includes(adminGroup)) return;
  const found = await sql.query<Pick<Grant, 'role'>>(
    'SELECT role FROM group_roles WHERE cluster_id = $1 AND issuer = $2 AND group_name = ANY($3::text[]) LIMIT 1',
    [clusterId, issuer, groups],
  );
  if (found.rows.length > 0) return;
  const known = groups.length === 0 ? 'the issuer lists no groups of yours' : `your groups are ${listed(groups)}`;
  throw new AccessDenied(
    'FORBIDDEN',
    `you have no role here: ${known}. An administrator gives a group a role with \`coxswain group grant\``,
    { action: 'authenticate' },
  );
}

function listed(groups: readonly string[]): string {
  const shown = groups.slice(0, 10).join(', ');
  return groups.length > 10 ? `${shown} and ${groups.length - 10} more` : shown;
}

/** The row of the person, who is the same however often he comes and whatever he is called meanwhile. */
async function person(sql: Sql, { identity }: SignedIn): Promise<Principal> {
  const found = await sql.query<{ id: string }>(
    `INSERT INTO principals (id, kind, issuer, subject, name) VALUES ($1, 'person', $2, $3, $4)
     ON CONFLICT (issuer, subject) DO UPDATE SET name = excluded.name RETURNING id`,
    [randomUUID(), identity.issuer, identity.subject, identity.name],
  );
  const { id } = firstOf(found) ?? { id: '' };
  return { id, kind: 'person', name: identity.name, isClusterAdmin: false, memberships: [] };
}

async function makeRoom(sql: Sql, principal: Principal): Promise<void> {
  const ended = await sql.query<{ id: string; cluster_id: string }>(
    `UPDATE sessions SET expires_at = now(), sealed_grant = NULL WHERE id IN (
       SELECT id FROM sessions WHERE principal_id = $1 AND expires_at > now() ORDER BY last_used_at DESC, id OFFSET $2)
     RETURNING id, cluster_id`,
    [principal.id, MAX_SESSIONS_OF_PERSON - 1],
  );
  for (const { id, cluster_id: clusterId } of ended.rows)
    await recordEnd(sql, principal, { id, clusterId, why: 'room' });
}

async function insertSession(
  sql: Sql,
  { clusterId, kind, signedIn, expiresAt, idToken }: NewSession,
  made: { readonly principal: Principal; readonly fresh: FreshToken; readonly sealedGrant: string },
): Promise<string> {
  const id = randomUUID();
  const { issuer, groups } = signedIn.identity;
  const idTokenSha256 = idToken === undefined ? null : sha256OfSigned(idToken);
  const { prefix, secretSha256 } = made.fresh;
  await sql.query(
    `INSERT INTO sessions (id, cluster_id, principal_id, kind, prefix, secret_sha256, issuer, groups, sealed_grant, id_token_sha256, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      id,
      clusterId,
      made.principal.id,
      kind,
      prefix,
      secretSha256,
      issuer,
      groups,
      made.sealedGrant,
      idTokenSha256,
      expiresAt,
    ],
  );
  return id;
}

/** Of what is signed alone: a signature can be written in several ways that are all good. */
export function sha256OfSigned(idToken: string): Buffer {
  return createHash('sha256')
    .update(idToken.slice(0, idToken.lastIndexOf('.')))
    .digest();
}
