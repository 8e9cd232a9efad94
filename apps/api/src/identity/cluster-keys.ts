import { createLocalJWKSet, errors as joseErrors, type JSONWebKeySet, jwtVerify, type JWTPayload } from 'jose';

/** A key that nobody knows is looked for at most so often. */
export const KEYS_COOLDOWN_MS = 30_000;
/** Of the API server's `--service-account-signing-key-file`, RSA or ECDSA. */
const ALGORITHMS = ['RS256', 'ES256', 'ES384', 'ES512'];
const CLOCK_TOLERANCE_SECONDS = 30;

/** The keys by which the API server signs tokens of service accounts, read when a token comes that none of the known ones has signed. */
export class ClusterKeys {
  readonly #read: () => Promise<JSONWebKeySet>;
  readonly #nowMs: () => number;
  #keys: ReturnType<typeof createLocalJWKSet> | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  /** `read` asks the API server. */
  constructor(read: () => Promise<JSONWebKeySet>, nowMs: () => number) {
    this.#read = read;
    this.#nowMs = nowMs;
  }

  /** What a token says that the cluster signed for the audience and that has not expired; undefined for any other. Rejects when the keys cannot be read. */
  async claimsOf(token: string, audience: string): Promise<JWTPayload | undefined> {
    if (this.#keys === undefined) await this.#readAgain();
    const before = await this.#verify(token, audience);
    if (before !== 'key unknown') return before;
    if (this.#nowMs() - this.#readAtMs < KEYS_COOLDOWN_MS) return undefined;
    await this.#readAgain();
    const after = await this.#verify(token, audience);
    return after === 'key unknown' ? undefined : after;
  }

  async #verify(token: string, audience: string): Promise<JWTPayload | undefined | 'key unknown'> {
    if (this.#keys === undefined) return 'key unknown';
    try {
      const { payload } = await jwtVerify(token, this.#keys, {
        audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['sub', 'exp'],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(this.#nowMs()),
      });
      return payload;
    } catch (error) {
      return error instanceof joseErrors.JWKSNoMatchingKey ? 'key unknown' : undefined;
    }
  }

  /** By one call however many wait for it. One that fails counts as one: the next comes after the pause, unless nothing is known yet. */
  #readAgain(): Promise<void> {
    this.#readAtMs = this.#nowMs();
    this.#reading ??= this.#read()
      .then((keys) => void (this.#keys = createLocalJWKSet(keys)))
      .finally(() => (this.#reading = undefined));
    return this.#reading;
  }
}
