import { DomainError, isDomainError } from '@coxswain/domain-error';
import { type Database, firstOf } from '@coxswain/persistence';
import type { Issuer } from '../identity/issuer.ts';
import type { WallClock } from '../infrastructure/tokens.ts';
import type { Principal } from './principal.ts';
import { endSession, sealGrant, unsealGrant } from './sessions.ts';
import type { TokenRow } from './token-lookup.ts';

/** Groups are read again when they were read so long ago. */
export const READ_AGAIN_MS = 3_600_000;
/** While the issuer does not answer, groups are believed for so long. */
export const BELIEVED_MS = 7_200_000;

/** What became of the groups of a session. */
export type Reading = 'believed' | 'read' | 'ended';

/** Reads again which groups people are in, at the issuer: who left a group loses its role within the hour, and whose account is closed the session. */
export class GroupReadings {
  readonly #database: Database;
  readonly #issuer: Pick<Issuer, 'readAgain'>;
  readonly #clock: WallClock;

  constructor(database: Database, issuer: Pick<Issuer, 'readAgain'>, clock: WallClock) {
    this.#database = database;
    this.#issuer = issuer;
    this.#clock = clock;
  }

  /**
   * `believed`: they were read lately, or another request is reading them. `ended`: the issuer does not bear the person out any more. UNAVAILABLE when the
   * issuer has not answered for so long that what is known counts no more.
   */
  async renew(row: TokenRow, secret: string, principal: Principal): Promise<Reading> {
    if (row.person === null) return 'believed';
    const ageMs = this.#clock.now().getTime() - Date.parse(row.person.groupsReadAt);
    if (ageMs < READ_AGAIN_MS) return 'believed';
    const claimed = await this.#claim(row.id);
    if (claimed === undefined) return believedUnlessOld(ageMs);
    const grant = claimed === null ? undefined : await unsealGrant(secret, claimed, this.#clock.now());
    if (grant === undefined) return this.#end(row, principal);
    try {
      const { identity, grant: next } = await this.#issuer.readAgain(row.person.subject, grant);
      const sealed = await sealGrant(secret, next, row.expires_at ?? this.#clock.now());
      await this.#database.query(
        'UPDATE sessions SET groups = $2, groups_read_at = now(), reading_groups_at = NULL, sealed_grant = $3 WHERE id = $1 AND expires_at > now()',
        [row.id, identity.groups, sealed],
      );
      return 'read';
    } catch (error) {
      if (!isDomainError(error)) throw error;
      return error.code === 'UNAVAILABLE' ? believedUnlessOld(ageMs) : this.#end(row, principal);
    }
  }

  /** What to read them with, for one request in a minute: many refresh tokens can be used once. Null: nothing. Undefined: another request does it. */
  async #claim(sessionId: string): Promise<string | null | undefined> {
    const claimed = await this.#database.query<{ sealed_grant: string | null }>(
      `UPDATE sessions SET reading_groups_at = now()
        WHERE id = $1 AND expires_at > now() AND (reading_groups_at IS NULL OR reading_groups_at < now() - interval '1 minute') RETURNING sealed_grant`,
      [sessionId],
    );
    return firstOf(claimed)?.sealed_grant;
  }

  async #end(row: TokenRow, principal: Principal): Promise<Reading> {
    await this.#database.transaction((sql) => endSession(sql, { id: row.id, principal, why: 'issuer' }));
    return 'ended';
  }
}

function believedUnlessOld(ageMs: number): Reading {
  if (ageMs < BELIEVED_MS) return 'believed';
  throw new DomainError(
    'UNAVAILABLE',
    'the issuer of accounts has not said for two hours which groups you are in; try again later, or use an API token',
  );
}
