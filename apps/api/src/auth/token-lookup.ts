import { setTimeout } from 'node:timers/promises';
import type { PrincipalKind, Role } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import type { TenantDatabase } from '@coxswain/persistence';
import { secretMatches, type TokenParts } from './token-format.ts';

/** What is stored of a credential that is good: of a token, or of a session of the page or of a command line. */
export interface TokenRow {
  readonly source: 'token' | 'page' | 'commandLine';
  readonly id: string;
  readonly principal_id: string;
  readonly kind: PrincipalKind;
  readonly name: string;
  readonly prefix: string;
  readonly secret_sha256: Buffer;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
  /** Roles of a token, or of the groups of a person, as they are now. A project can stand here several times; id null: the cluster. */
  readonly grants: readonly { readonly id: string | null; readonly name: string | null; readonly role: Role }[];
  /** Of a session. */
  readonly person: PersonOfSession | null;
}

/** What is known of the person who signed in. */
export interface PersonOfSession {
  readonly issuer: string;
  readonly subject: string;
  readonly groups: readonly string[];
  /** As text of a time. */
  readonly groupsReadAt: string;
}

/** Whose tokens are looked up. */
export interface LookupScope {
  readonly clusterId: string;
  /** A session of the page that nobody used for so long is over. */
  readonly idleMinutes: number;
}

interface Asked extends TokenParts {
  readonly answer: (row: TokenRow | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/** Resolves after that time, or when the signal aborts. */
export type Pause = (durationMs: number, signal?: AbortSignal) => Promise<void>;

/** After a query that found no good token. */
export const FRUITLESS_PAUSE_MS = 20;
/** A query that takes longer holds nobody up any more. */
export const SLOW_QUERY_MS = 1_000;
/** More than a process can be asked for while one query is answered; about 2 MB. */
export const MOST_WAITING = 10_000;

/**
 * Finds tokens in the database. Lookups that arrive together share one query, so unknown tokens cost at most 50 queries a second however many are
 * sent, and a valid token among them is found by the same query. Nothing is cached, neither hits nor misses: a token is valid from the moment of its
 * creation.
 */
export class TokenLookup {
  readonly #database: Pick<TenantDatabase, 'call'>;
  readonly #scope: LookupScope;
  readonly #pause: Pause;
  #waiting: Asked[] = [];
  #isAsking = false;

  constructor(database: Pick<TenantDatabase, 'call'>, scope: LookupScope, pause: Pause = pauseFor) {
    this.#database = database;
    this.#scope = scope;
    this.#pause = pause;
  }

  /** The row of a token that is neither revoked nor expired. UNAVAILABLE when the database does not keep up. */
  find(parts: TokenParts): Promise<TokenRow | undefined> {
    if (this.#waiting.length >= MOST_WAITING) {
      throw new DomainError('UNAVAILABLE', 'too many tokens wait to be looked up; try again in a second');
    }
    const found = new Promise<TokenRow | undefined>((answer, fail) => {
      this.#waiting.push({ ...parts, answer, fail });
    });
    if (!this.#isAsking) void this.#ask();
    return found;
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (this.#waiting.length > 0) {
      const asked = this.#waiting;
      this.#waiting = [];
      const over = new AbortController();
      const slow = this.#pause(SLOW_QUERY_MS, over.signal).then(() => true);
      const isFruitless = !(await Promise.race([this.#answer(asked), slow]));
      over.abort();
      if (isFruitless) await this.#pause(FRUITLESS_PAUSE_MS);
    }
    this.#isAsking = false;
  }

  /** Whether any of them was good; never rejects. */
  async #answer(asked: readonly Asked[]): Promise<boolean> {
    try {
      const rows = await this.#rowsOf([...new Set(asked.map(({ prefix }) => prefix))]);
      const found = asked.map(({ prefix, secret }) => {
        // A token and a session can have the same eight digits.
        return rows.get(prefix)?.find((row) => secretMatches(secret, row.secret_sha256));
      });
      asked.forEach(({ answer }, index) => answer(found[index]));
      return found.some((row) => row !== undefined);
    } catch (error) {
      for (const { fail } of asked) fail(error);
      return false;
    }
  }

  async #rowsOf(prefixes: readonly string[]): Promise<ReadonlyMap<string, readonly TokenRow[]>> {
    const { clusterId, idleMinutes } = this.#scope;
    const found = await this.#database.call<TokenRow>('find_credentials', [prefixes, clusterId, idleMinutes]);
    return Map.groupBy(found, ({ prefix }) => prefix);
  }
}

function pauseFor(durationMs: number, signal?: AbortSignal): Promise<void> {
  return setTimeout(durationMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}
