import { createAuthority, expiryOf, issueServingCertificate, type KeyPair } from './authority.ts';

/*
 * One authority for all replicas, kept in a Secret; each replica signs a certificate of its own with it and keeps that in memory.
 *
 * A pod trusts the bundle of its creation for its whole life. So an authority is changed in two steps:
 *
 *   more than a year left          | the year before the end             | the last 30 days
 *   `ca` signs, the bundle is `ca` | `next` is made; the bundle is both,  | `next` becomes `ca`
 *                                  | `ca` still signs                     |
 *
 * Every pod younger than eleven months then trusts the new one before anything is signed with it.
 */

/** Store of the certificate authority. The first replica creates it; an update fails if another replica was faster. */
export interface AuthorityStore {
  read(): Promise<StoredAuthority | undefined>;
  create(content: AuthorityContent): Promise<'written' | 'conflict'>;
  update(stored: StoredAuthority, content: AuthorityContent): Promise<'written' | 'conflict'>;
}

/** `ca` signs; `next` is already trusted and signs later. */
export interface AuthorityContent {
  readonly ca: KeyPair;
  readonly next?: KeyPair;
}

/** The authority as the store returned it. */
export interface StoredAuthority extends Partial<AuthorityContent> {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** What a report server and a pod need. */
export interface TlsMaterial {
  readonly serving: KeyPair;
  /** All authorities that a new pod should trust, as PEM. */
  readonly caBundlePem: string;
}

const MS_PER_DAY = 86_400_000;
const MAKE_NEXT_BEFORE_MS = 365 * MS_PER_DAY;
const USE_NEXT_BEFORE_MS = 30 * MS_PER_DAY;
const RENEW_SERVING_BEFORE_MS = 30 * MS_PER_DAY;

/** Keeps this replica's certificate and the bundle current. */
export class ReportTls {
  readonly #store: AuthorityStore;
  readonly #hosts: readonly string[];
  readonly #now: () => Date;
  #material: TlsMaterial | undefined;
  #signedBy: string | undefined;

  constructor(options: {
    readonly store: AuthorityStore;
    readonly hosts: readonly string[];
    readonly now: () => Date;
  }) {
    this.#store = options.store;
    this.#hosts = options.hosts;
    this.#now = options.now;
  }

  /** The current material; throws before the first `refresh`. */
  get material(): TlsMaterial {
    if (this.#material === undefined) throw new Error('the report certificate has not been made yet');
    return this.#material;
  }

  /** Updates Secret and certificate. Resolves with whether the serving certificate changed. Call it regularly. */
  async refresh(): Promise<boolean> {
    const authority = await ensureAuthority(this.#store, this.#now());
    const bundle = [authority.ca.certPem, ...(authority.next === undefined ? [] : [authority.next.certPem])].join('');
    const isCurrent = this.#signedBy === authority.ca.certPem && !this.#servingEndsSoon();
    const serving =
      isCurrent && this.#material !== undefined
        ? this.#material.serving
        : await issueServingCertificate(authority.ca, { hosts: this.#hosts, now: this.#now() });
    const changed = serving !== this.#material?.serving;
    this.#signedBy = authority.ca.certPem;
    this.#material = { serving, caBundlePem: bundle };
    return changed;
  }

  #servingEndsSoon(): boolean {
    const expiry = this.#material === undefined ? undefined : expiryOf(this.#material.serving.certPem);
    return expiry === undefined || expiry.getTime() - this.#now().getTime() < RENEW_SERVING_BEFORE_MS;
  }
}

/** The authority for `now`: read, created, or moved one step further. */
async function ensureAuthority(store: AuthorityStore, now: Date): Promise<AuthorityContent> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const stored = await store.read();
    const wanted = await authorityAt(stored, now);
    if (stored === undefined) {
      if ((await store.create(wanted)) === 'written') return wanted;
    } else if (stored.ca?.certPem === wanted.ca.certPem && stored.next?.certPem === wanted.next?.certPem) {
      return wanted;
    } else if ((await store.update(stored, wanted)) === 'written') return wanted;
  }
  throw new Error('the Secret of the report authority keeps changing while it is written; try again');
}

async function authorityAt(stored: Partial<AuthorityContent> | undefined, now: Date): Promise<AuthorityContent> {
  const leftMs = (pair: KeyPair | undefined): number => {
    const expiry = pair === undefined ? undefined : expiryOf(pair.certPem);
    return expiry === undefined ? 0 : expiry.getTime() - now.getTime();
  };
  const usable = [stored?.ca, stored?.next].filter((pair) => pair !== undefined && leftMs(pair) > USE_NEXT_BEFORE_MS);
  const [ca = await createAuthority(now), next] = usable;
  if (next !== undefined) return { ca, next };
  return leftMs(ca) > MAKE_NEXT_BEFORE_MS ? { ca } : { ca, next: await createAuthority(now) };
}
