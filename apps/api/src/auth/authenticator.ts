import { DomainError } from '@coxswain/domain-error';
import type { Sql } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, DATABASE, type WallClock } from '../infrastructure/tokens.ts';
import type { Principal } from './principal.ts';
import { partsOfToken } from './token-format.ts';
import { TokenLookup, type TokenRow } from './token-lookup.ts';

/** A revoked token is refused after this time at the latest. */
const CACHE_MS = 2_000;
const MAX_CACHED = 10_000;
/** `last_used_at` is a whole hour and written once in it, so that reading does not become writing. */
const LAST_USED_RESOLUTION_MS = 3_600_000;

/** Turns what a client presents into a principal. */
@Injectable()
export class Authenticator {
  readonly #tokens: TokenLookup;
  readonly #database: Sql;
  readonly #clock: WallClock;
  readonly #cache = new Map<
    string,
    { readonly principal: Principal; readonly expiresAt: Date | null; readonly untilMs: number }
  >();

  constructor(
    @Inject(TokenLookup) tokens: TokenLookup,
    @Inject(DATABASE) database: Sql,
    @Inject(CLOCK) clock: WallClock,
  ) {
    this.#tokens = tokens;
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

    const row = await this.#tokens.find(parts);
    if (row === undefined || hasPassed(row.expires_at, now)) {
      this.#cache.delete(presented);
      throw unauthenticated();
    }
    const principal = toPrincipal(row);
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(presented, { principal, expiresAt: row.expires_at, untilMs: now.getTime() + CACHE_MS });
    if (isStale(row.last_used_at, now)) this.#touch(row.id);
    return principal;
  }

  /** Best effort: nobody waits for it, and its failure means nothing. */
  #touch(tokenId: string): void {
    const touched = this.#database.query(
      `UPDATE api_tokens SET last_used_at = date_trunc('hour', now(), 'UTC')
        WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < date_trunc('hour', now(), 'UTC'))`,
      [tokenId],
    );
    touched.catch(() => undefined);
  }
}

function isStale(lastUsed: Date | null, now: Date): boolean {
  return lastUsed === null || now.getTime() - lastUsed.getTime() >= LAST_USED_RESOLUTION_MS;
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
