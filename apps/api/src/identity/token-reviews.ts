import { createHash } from 'node:crypto';
import { DomainError } from '@coxswain/domain-error';
import { type KubeClient, resourcePath } from '@coxswain/kube';
import type { Logger, Metrics } from '@coxswain/telemetry';
import type { JSONWebKeySet } from 'jose';
import { ShortMemory } from './short-memory.ts';
import { ClusterKeys } from './cluster-keys.ts';
import { type ServiceAccount, serviceAccountOf, type TokenReview } from './service-account.ts';

/**
 * The API server's word is believed for so long. It remembers it for 10 s itself: a token whose account or pod is gone is refused after both at the latest.
 */
export const ACCEPTED_MS = 30_000;
/** How long a token that the API server refused stays refused without another review. */
export const REFUSED_MS = 10_000;
/** After a call that was not answered, the API server is not asked again for this long. */
export const AWAY_MS = 1_000;
/** Under 1 kB each. */
const MOST_REMEMBERED = 5_000;
/** Tokens that wait for the API server at a time; the client carries 16 calls at once. */
export const MOST_WAITING = 500;
const TIMEOUT_MS = 5_000;
/** That every service account may read, by a role that Kubernetes itself binds; it is answered as nothing but what it is. */
const KEYS_PATH = '/openid/v1/jwks';
const KEYS_TYPE = 'application/jwk-set+json';
const MAX_KEYS_BYTES = 256 * 1_024;
const REVIEWS_PATH = resourcePath({ group: 'authentication.k8s.io', version: 'v1', plural: 'tokenreviews' });

/** What reviews stand on. */
export interface TokenReviewParts {
  readonly kube: Pick<KubeClient, 'create' | 'requestStream'>;
  readonly audience: string;
  readonly nowMs: () => number;
  readonly metrics: Metrics;
  readonly logger: Pick<Logger, 'warn'>;
}

const REFUSED = 'refused';

/**
 * Asks the API server to which service account a token belongs. Only tokens that one of its own keys signed for our audience are sent: forged tokens
 * cost it nothing, and evict nothing from the cache.
 */
export class TokenReviews {
  readonly #parts: TokenReviewParts;
  readonly #keys: ClusterKeys;
  readonly #memory: ShortMemory<ServiceAccount | typeof REFUSED>;
  readonly #count: (outcome: string) => void;
  #awayUntilMs = Number.NEGATIVE_INFINITY;

  constructor(parts: TokenReviewParts) {
    const { kube, nowMs, metrics } = parts;
    this.#parts = parts;
    this.#memory = new ShortMemory({ most: MOST_REMEMBERED, nowMs });
    this.#keys = new ClusterKeys(() => this.#asked(() => readKeys(kube)), nowMs);
    const reviews = metrics.counter({
      name: 'coxswain_api_token_reviews_total',
      help: 'Questions to the Kubernetes API server about tokens of service accounts, by what came of them.',
      labelNames: ['outcome'],
    });
    for (const outcome of ['accepted', REFUSED, 'unavailable']) reviews.inc({ outcome }, 0);
    this.#count = (outcome) => reviews.inc({ outcome });
  }

  /** Undefined: the token is no good here. UNAVAILABLE when the API server does not say. */
  async accountOf(token: string): Promise<ServiceAccount | undefined> {
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.#memory.recall(key);
    if (known !== undefined) return known === REFUSED ? undefined : known;
    const claims = await this.#keys.claimsOf(token, this.#parts.audience);
    if (claims === undefined) return undefined;
    if (this.#memory.asking >= MOST_WAITING) throw unavailable('too many tokens wait to be looked at');
    const found = await this.#memory.once(key, async () => {
      const account = await this.#review(token);
      this.#count(account === undefined ? REFUSED : 'accepted');
      const leftMs = (claims.exp ?? 0) * 1_000 - this.#parts.nowMs();
      return account === undefined
        ? { value: REFUSED, forMs: REFUSED_MS }
        : { value: account, forMs: Math.min(ACCEPTED_MS, leftMs) };
    });
    return found === REFUSED ? undefined : found;
  }

  async #review(token: string): Promise<ServiceAccount | undefined> {
    const { kube, audience } = this.#parts;
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, audiences: [audience] },
    };
    const call = { lane: 'identity', timeoutMs: TIMEOUT_MS } as const;
    return serviceAccountOf(await this.#asked(() => kube.create<TokenReview>(REVIEWS_PATH, body, call)), audience);
  }

  /** Calls the API server, unless it failed to answer within the last AWAY_MS: queued reviews need not each find out. */
  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    const { nowMs, logger } = this.#parts;
    if (nowMs() < this.#awayUntilMs) throw unavailable('the Kubernetes API server did not answer a moment ago');
    try {
      return await ask();
    } catch (cause) {
      this.#awayUntilMs = nowMs() + AWAY_MS;
      this.#count('unavailable');
      logger.warn({ reason: (cause as Error).message }, 'the API server was asked about a service account, in vain');
      throw Object.assign(unavailable('the Kubernetes API server does not say whose this token is'), { cause });
    }
  }
}

async function readKeys(kube: Pick<KubeClient, 'requestStream'>): Promise<JSONWebKeySet> {
  const { body } = await kube.requestStream(KEYS_PATH, {
    accept: KEYS_TYPE,
    timeoutMs: TIMEOUT_MS,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_KEYS_BYTES) throw new Error(`the keys of the cluster have more than ${MAX_KEYS_BYTES} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as JSONWebKeySet;
}

function unavailable(why: string): DomainError {
  return new DomainError('UNAVAILABLE', `${why}; try again in a second. API tokens work meanwhile`);
}
