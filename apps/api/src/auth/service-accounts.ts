import type { TenantDatabase } from '@coxswain/persistence';
import type { ServiceAccount } from '../identity/service-account.ts';
import type { TokenReviews } from '../identity/token-reviews.ts';
import { AccessDenied } from './access-denied.ts';
import { type Grant, rightsOf } from './grants.ts';
import type { Principal } from './principal.ts';
import { ShortMemory } from '../identity/short-memory.ts';

/** A role that was given or taken holds after this time at the latest, as for a token. */
const REMEMBERED_MS = 2_000;
const MOST_REMEMBERED = 5_000;

/** Form of a token that an API server signs; ours begin otherwise. */
const JWT = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/;

/** Whether it can be a token of a service account at all. */
export function isServiceAccountToken(text: string): boolean {
  return JWT.test(text);
}

/** What service accounts stand on. */
export interface ServiceAccountsParts {
  readonly reviews: Pick<TokenReviews, 'accountOf'>;
  readonly database: Pick<TenantDatabase, 'call'>;
  readonly clusterId: string;
  readonly nowMs: () => number;
}

/** Accounts of Kubernetes as principals: who they are the API server says, what they may the roles that their names and groups were given. */
export class ServiceAccounts {
  readonly #parts: ServiceAccountsParts;
  readonly #principals: ShortMemory<Principal | AccessDenied>;

  constructor(parts: ServiceAccountsParts) {
    this.#parts = parts;
    this.#principals = new ShortMemory({ most: MOST_REMEMBERED, nowMs: parts.nowMs });
  }

  /** Undefined: not a token of a service account. FORBIDDEN for an account without a role, UNAVAILABLE when the API server does not say whose it is. */
  async principalOf(token: string): Promise<Principal | undefined> {
    const account = await this.#parts.reviews.accountOf(token);
    if (account === undefined) return undefined;
    const key = [account.username, ...account.groups].join('\n');
    const found = await this.#principals.once(key, async () => ({
      value: await this.#findOrRecord(account),
      forMs: REMEMBERED_MS,
    }));
    if (found instanceof AccessDenied) throw found;
    return found;
  }

  /** An account is recorded when it has a role: the others of a cluster are none of our business. */
  async #findOrRecord({ username, groups }: ServiceAccount): Promise<Principal | AccessDenied> {
    const { database, clusterId } = this.#parts;
    const [row] = await database.call<AccountRow>('find_service_account', [clusterId, username, groups]);
    const rights = rightsOf(row?.grants ?? []);
    if (!rights.isClusterAdmin && rights.memberships.length === 0) return hasNoRole(username);
    const id = row?.id ?? (await this.#record(username));
    return { id, kind: 'serviceAccount', name: username, ...rights };
  }

  async #record(username: string): Promise<string> {
    const { database, clusterId } = this.#parts;
    const [made] = await database.call<{ id: string }>('record_service_account', [clusterId, username]);
    if (made === undefined) throw new Error('record_service_account gave no row');
    return made.id;
  }
}

interface AccountRow {
  readonly id: string | null;
  readonly grants: readonly Grant[];
}

function hasNoRole(username: string): AccessDenied {
  const how = `\`coxswain group grant ${username} --kind serviceAccount\``;
  return new AccessDenied('FORBIDDEN', `${username} has no role here; an administrator gives it one with ${how}`, {
    action: 'authenticate',
  });
}
