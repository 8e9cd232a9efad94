import { DomainError, isDomainError } from '@coxswain/domain-error';
import type { TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config/config.ts';
import { CLOCK, CONFIG, TENANT_DATABASE, type WallClock } from '../infrastructure/tokens.ts';
import { AccessDenied } from './access-denied.ts';
import type { Credential } from './credential.ts';
import { rightsOf } from './grants.ts';
import { GroupReadings } from './group-readings.ts';
import type { Principal } from './principal.ts';
import { isServiceAccountToken, ServiceAccounts } from './service-accounts.ts';
import { type Learned, ShortMemory } from '../identity/short-memory.ts';
import { partsOfToken, type TokenParts } from './token-format.ts';
import { TokenLookup, type TokenRow } from './token-lookup.ts';

/** A token that was revoked and a session that was ended at another replica are refused after this time at the latest. */
const CACHE_MS = 2_000;
const MAX_CACHED = 10_000;
/** `last_used_at` of a token is a whole hour and written once in it, so that reading does not become writing. */
const TOKEN_USE_RESOLUTION_MS = 3_600_000;
/** A session ends when nobody uses it, so the minute counts. */
const SESSION_USE_RESOLUTION_MS = 60_000;

/** The principal that was authenticated, and the credential that it used. */
export interface Authenticated {
  readonly principal: Principal;
  /** Undefined: by a token. */
  readonly sessionId: string | undefined;
}

/** Whose a credential is, or why it lets nobody in. */
type Found = Authenticated | DomainError;

/** Turns what a client presents into a principal. */
@Injectable()
export class Authenticator {
  readonly #tokens: TokenLookup;
  readonly #database: Pick<TenantDatabase, 'call'>;
  readonly #clock: WallClock;
  readonly #signIn: Config['signIn'];
  readonly #readings: Pick<GroupReadings, 'renew'> | null;
  readonly #accounts: Pick<ServiceAccounts, 'principalOf'> | null;
  readonly #memory: ShortMemory<Found>;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TokenLookup) tokens: TokenLookup,
    @Inject(TENANT_DATABASE) database: Pick<TenantDatabase, 'call'>,
    @Inject(CLOCK) clock: WallClock,
    @Inject(CONFIG) config: Pick<Config, 'signIn'>,
    @Inject(GroupReadings) readings: Pick<GroupReadings, 'renew'> | null,
    @Inject(ServiceAccounts) accounts: Pick<ServiceAccounts, 'principalOf'> | null,
  ) {
    this.#tokens = tokens;
    this.#database = database;
    this.#clock = clock;
    this.#signIn = config.signIn;
    this.#readings = readings;
    this.#accounts = accounts;
    this.#memory = new ShortMemory({ most: MAX_CACHED, nowMs: () => clock.now().getTime() });
  }

  /** The principal of a credential. UNAUTHENTICATED with the same message whatever is wrong with it; FORBIDDEN for a person without a role. */
  async authenticate(credential: Credential | undefined): Promise<Principal> {
    return (await this.identify(credential)).principal;
  }

  /** The same, and which session it was. */
  async identify(credential: Credential | undefined): Promise<Authenticated> {
    const parts = credential === undefined ? undefined : partsOfToken(credential.text);
    if (credential === undefined) throw unauthenticated();
    if (parts === undefined) return this.#account(credential);
    const found = await this.#memory.once(keyOf(credential), () => this.#find(parts, credential));
    if (found instanceof DomainError) throw found;
    return found;
  }

  /** Called after a session ended: this replica stops accepting it at once. */
  forget(credential: Credential): void {
    this.#memory.forget(keyOf(credential));
  }

  async #account({ by, text }: Credential): Promise<Authenticated> {
    const isOne = by === 'bearer' && isServiceAccountToken(text);
    const principal = isOne ? await this.#accounts?.principalOf(text) : undefined;
    if (principal === undefined) throw unauthenticated();
    return { principal, sessionId: undefined };
  }

  /**
   * Nothing is remembered of a credential that nobody was given: it may be made in a moment. What there is is remembered also when it lets nobody in, so that a
   * person without a role, or whose issuer is away, costs no more than one with.
   */
  async #find(parts: TokenParts, credential: Credential): Promise<Learned<Found>> {
    const row = await this.#tokens.find(parts);
    if (row === undefined) return { value: unauthenticated(), forMs: 0 };
    const leftMs = row.expires_at === null ? CACHE_MS : row.expires_at.getTime() - this.#clock.now().getTime();
    const forMs = Math.min(CACHE_MS, leftMs);
    try {
      return { value: await this.#judge(row, parts, credential), forMs };
    } catch (error) {
      if (isDomainError(error)) return { value: error, forMs };
      throw error;
    }
  }

  async #judge(row: TokenRow, parts: TokenParts, credential: Credential): Promise<Authenticated> {
    if (!this.#isGood(row, credential)) throw unauthenticated();
    const reading = await this.#readings?.renew(row, credential.text, bareOf(row));
    if (reading === 'ended') throw unauthenticated();
    const current = reading === 'read' ? await this.#tokens.find(parts) : row;
    if (current === undefined) throw unauthenticated();
    const principal = this.#principalOf(current);
    if (isStale(current, this.#clock.now())) this.#touch(current);
    return { principal, sessionId: current.source === 'token' ? undefined : current.id };
  }

  /** A session of the page is good as a cookie alone, and one of an issuer that is not ours any more not at all. */
  #isGood(row: TokenRow, { by }: Credential): boolean {
    if (hasPassed(row.expires_at, this.#clock.now())) return false;
    if ((by === 'cookie') !== (row.source === 'page')) return false;
    return row.person === null || (this.#readings !== null && row.person.issuer === this.#signIn?.issuerUrl);
  }

  #principalOf(row: TokenRow): Principal {
    const { adminGroup } = this.#signIn ?? {};
    const isInstalled = adminGroup !== undefined && row.person?.groups.includes(adminGroup) === true;
    const grants = isInstalled ? [{ id: null, name: null, role: 'clusterAdmin' as const }] : row.grants;
    const rights = rightsOf(grants);
    if (!rights.isClusterAdmin && rights.memberships.length === 0) {
      const sentence = 'none of your groups has a role here any more; ask an administrator for one';
      throw new AccessDenied('FORBIDDEN', sentence, { action: 'authenticate' });
    }
    return { ...bareOf(row), ...rights };
  }

  /** Best effort: nobody waits for it, and its failure means nothing. */
  #touch({ source, id }: TokenRow): void {
    const touched = this.#database.call(source === 'token' ? 'touch_token' : 'touch_session', [id]);
    touched.catch(() => undefined);
  }
}

function keyOf({ by, text }: Credential): string {
  return `${by} ${text}`;
}

function isStale({ source, last_used_at: lastUsed }: TokenRow, now: Date): boolean {
  const resolutionMs = source === 'token' ? TOKEN_USE_RESOLUTION_MS : SESSION_USE_RESOLUTION_MS;
  return lastUsed === null || now.getTime() - lastUsed.getTime() >= resolutionMs;
}

/** Without any right. */
function bareOf({ principal_id: id, kind, name }: TokenRow): Principal {
  return { id, kind, name, isClusterAdmin: false, memberships: [] };
}

function hasPassed(instant: Date | null, now: Date): boolean {
  return instant !== null && instant.getTime() <= now.getTime();
}

function unauthenticated(): DomainError {
  return new DomainError(
    'UNAUTHENTICATED',
    'send a valid API token as "Authorization: Bearer cxs_…", or sign in again if you had',
  );
}
