import type { WhoAmI } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { firstOf, type Sql } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, DATABASE, type WallClock } from '../infrastructure/tokens.ts';
import type { Principal } from './principal.ts';
import { partsOfToken, secretMatches } from './token-format.ts';

/** A revoked token is refused after this time at the latest. */
const CACHE_MS = 2_000;
const MAX_CACHED = 10_000;
/** `last_used_at` is that exact, so that reading does not become writing. */
const LAST_USED_RESOLUTION = '5 minutes';

interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly role: WhoAmI['role'];
  readonly secret_sha256: Buffer;
  readonly expires_at: Date | null;
  readonly project_id: string | null;
  readonly project_name: string | null;
}

/** Turns what a client presents into a principal. */
@Injectable()
export class Authenticator {
  readonly #database: Sql;
  readonly #clock: WallClock;
  readonly #cache = new Map<
    string,
    { readonly principal: Principal; readonly expiresAt: Date | null; readonly untilMs: number }
  >();

  constructor(@Inject(DATABASE) database: Sql, @Inject(CLOCK) clock: WallClock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** The principal of an `Authorization` header. UNAUTHENTICATED with one and the same sentence, whatever is wrong with it. */
  async authenticate(header: string | undefined): Promise<Principal> {
    const presented = /^Bearer ([!-~]{1,200})$/i.exec(header ?? '')?.[1];
    const parts = presented === undefined ? undefined : partsOfToken(presented);
    if (presented === undefined || parts === undefined) throw unauthenticated();
    const now = this.#clock.now();
    const cached = this.#cache.get(presented);
    if (cached !== undefined && cached.untilMs > now.getTime() && !hasPassed(cached.expiresAt, now))
      return cached.principal;

    const row = await this.#find(parts.prefix);
    if (row === undefined || !secretMatches(parts.secret, row.secret_sha256) || hasPassed(row.expires_at, now)) {
      this.#cache.delete(presented);
      throw unauthenticated();
    }
    const principal = toPrincipal(row);
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(presented, { principal, expiresAt: row.expires_at, untilMs: now.getTime() + CACHE_MS });
    this.#touch(row.id);
    return principal;
  }

  async #find(prefix: string): Promise<TokenRow | undefined> {
    const found = await this.#database.query<TokenRow>(
      `SELECT t.id, t.name, t.role, t.secret_sha256, t.expires_at, t.project_id, p.name AS project_name
         FROM api_tokens t LEFT JOIN projects p ON p.id = t.project_id
        WHERE t.prefix = $1 AND t.revoked_at IS NULL`,
      [prefix],
    );
    return firstOf(found);
  }

  /** Best effort: nobody waits for it, and its failure means nothing. */
  #touch(tokenId: string): void {
    const touched = this.#database.query(
      `UPDATE api_tokens SET last_used_at = now()
        WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '${LAST_USED_RESOLUTION}')`,
      [tokenId],
    );
    touched.catch(() => undefined);
  }
}

function toPrincipal(row: TokenRow): Principal {
  const project =
    row.project_id === null || row.project_name === null ? null : { id: row.project_id, name: row.project_name };
  return { tokenId: row.id, name: row.name, role: row.role, project };
}

function hasPassed(instant: Date | null, now: Date): boolean {
  return instant !== null && instant.getTime() <= now.getTime();
}

function unauthenticated(): DomainError {
  return new DomainError('UNAUTHENTICATED', 'send a valid API token as "Authorization: Bearer cxs_…"');
}
