import { Readable } from 'node:stream';
import { DomainError } from '@coxswain/domain-error';
import { createMetrics } from '@coxswain/telemetry';
import { exportJWK, generateKeyPair, type JSONWebKeySet, type JWTPayload, SignJWT } from 'jose';
import { KEYS_COOLDOWN_MS } from './cluster-keys.ts';
import { ACCEPTED_MS, AWAY_MS, REFUSED_MS, TokenReviews } from './token-reviews.ts';
import type { TokenReview } from './service-account.ts';

const ACCOUNT = 'system:serviceaccount:research:pipeline';
const GROUPS = ['system:serviceaccounts', 'system:serviceaccounts:research', 'system:authenticated'];
type Key = Awaited<ReturnType<typeof generateKeyPair>>;

let own: Key;
let foreign: Key;
let nowMs: number;
let isAway: boolean;
let keys: JSONWebKeySet;
let answer: TokenReview;
let calls: { keys: number; reviews: number };
let reviews: TokenReviews;

beforeAll(async () => {
  [own, foreign] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);
});

const jwksOf = async (kid: string, key: Key): Promise<JSONWebKeySet> => ({
  keys: [{ ...(await exportJWK(key.publicKey)), kid, alg: 'RS256', use: 'sig' }],
});

beforeEach(async () => {
  nowMs = Date.UTC(2026, 0, 1);
  isAway = false;
  keys = await jwksOf('own', own);
  answer = {
    status: { authenticated: true, audiences: ['coxswain-api'], user: { username: ACCOUNT, groups: GROUPS } },
  };
  calls = { keys: 0, reviews: 0 };
  const kube = {
    requestStream: () => {
      calls.keys++;
      if (isAway) return Promise.reject(new Error('refused'));
      return Promise.resolve({ body: Readable.from([Buffer.from(JSON.stringify(keys))]) } as never);
    },
    create: () => {
      calls.reviews++;
      return isAway ? Promise.reject(new Error('refused')) : Promise.resolve(answer as never);
    },
  };
  reviews = new TokenReviews({
    kube,
    audience: 'coxswain-api',
    nowMs: () => nowMs,
    metrics: createMetrics(),
    logger: { warn: () => undefined },
  });
});

const token = (claims: JWTPayload = {}, { key = own, kid = 'own' } = {}): Promise<string> =>
  new SignJWT({ sub: ACCOUNT, aud: ['coxswain-api'], exp: nowMs / 1_000 + 3_600, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid })
    .sign(key.privateKey);
const ask = async (claims?: JWTPayload): Promise<string | undefined> =>
  (await reviews.accountOf(await token(claims)))?.username;
const codeOf = (act: Promise<unknown>): Promise<unknown> =>
  act.catch((error: unknown) => (error instanceof DomainError ? error.code : error));

describe('a token of a service account', () => {
  it('is the account that the API server says, asked once in half a minute, by a crowd as by one', async () => {
    const text = await token();
    const found = await Promise.all(Array.from({ length: 50 }, () => reviews.accountOf(text)));
    expect(new Set(found)).toEqual(new Set([{ username: ACCOUNT, groups: GROUPS }]));
    nowMs += ACCEPTED_MS - 1;
    await reviews.accountOf(text);
    expect(calls).toEqual({ keys: 1, reviews: 1 });
    nowMs += 1;
    await reviews.accountOf(text);
    expect(calls).toEqual({ keys: 1, reviews: 2 });
  });

  it('whose account was deleted is refused after half a minute, and asked about again after ten seconds', async () => {
    const text = await token();
    await reviews.accountOf(text);
    answer = { status: { authenticated: false } };
    nowMs += ACCEPTED_MS;
    expect(await reviews.accountOf(text)).toBeUndefined();
    nowMs += REFUSED_MS - 1;
    expect(await reviews.accountOf(text)).toBeUndefined();
    expect(calls.reviews).toBe(2);
    nowMs += 1;
    await reviews.accountOf(text);
    expect(calls.reviews).toBe(3);
  });

  it('is not believed beyond its own end', async () => {
    const text = await token({ exp: nowMs / 1_000 + 5 });
    await reviews.accountOf(text);
    nowMs += 5_000;
    await reviews.accountOf(text);
    expect(calls.reviews).toBe(2);
  });

  it.each<[string, TokenReview]>([
    ['of a user', { status: { authenticated: true, audiences: ['coxswain-api'], user: { username: 'ada' } } }],
    ['that nobody checked the audience of', { status: { authenticated: true, user: { username: ACCOUNT } } }],
    ['for the API server', { status: { authenticated: true, audiences: ['kubernetes'], user: { username: ACCOUNT } } }],
    [
      'with more groups than any account has',
      {
        status: {
          authenticated: true,
          audiences: ['coxswain-api'],
          user: { username: ACCOUNT, groups: Array.from({ length: 21 }, (_, i) => `g${i}`) },
        },
      },
    ],
    ['of which the API server says nothing', {}],
  ])('%s lets nobody in', async (_what, reviewed) => {
    answer = reviewed;
    expect(await ask()).toBeUndefined();
  });
});

describe('what strangers make up costs the API server nothing:', () => {
  it.each<[string, () => Promise<string>]>([
    ['a token that another cluster signed', () => token({}, { key: foreign })],
    ['a token for another audience', () => token({ aud: 'kubernetes' })],
    ['a token for no audience', () => token({ aud: undefined as never })],
    ['a token that has expired', () => token({ exp: nowMs / 1_000 - 31 })],
    ['a token without an end', () => token({ exp: undefined as never })],
    ['a token that nobody signed', async () => (await token()).replace(/[^.]+$/, 'AAAA')],
    ['a text with two dots', () => Promise.resolve('eyJhbGciOiJub25lIn0.e30.x')],
  ])('%s', async (_what, make) => {
    await ask();
    const before = { ...calls };
    for (let times = 0; times < 20; times++) expect(await reviews.accountOf(await make())).toBeUndefined();
    expect(calls).toEqual(before);
  });

  it('tokens of keys that nobody knows cost one reading of the keys in half a minute', async () => {
    await ask();
    const strange = (kid: string): Promise<unknown> =>
      token({}, { kid, key: foreign }).then((text) => reviews.accountOf(text));
    for (let times = 0; times < 20; times++) await strange(`kid-${times}`);
    expect(calls.keys).toBe(1);
    nowMs += KEYS_COOLDOWN_MS;
    for (let times = 0; times < 20; times++) await strange(`other-${times}`);
    expect(calls.keys).toBe(2);
  });
});

describe('a new key of the cluster', () => {
  it('is known after half a minute at the latest', async () => {
    await ask();
    keys = await jwksOf('next', foreign);
    nowMs += KEYS_COOLDOWN_MS;
    const found = await reviews.accountOf(await token({}, { kid: 'next', key: foreign }));
    expect(found?.username).toBe(ACCOUNT);
  });
});

describe('an API server that is away', () => {
  it('is no refusal, is asked once a second at most, and believed again when it is back', async () => {
    isAway = true;
    for (let times = 0; times < 20; times++) expect(await codeOf(ask())).toBe('UNAVAILABLE');
    expect(calls).toEqual({ keys: 1, reviews: 0 });
    isAway = false;
    nowMs += AWAY_MS;
    expect(await ask()).toBe(ACCOUNT);
  });

  it('lets those in whom it knew a moment ago, and nobody any longer', async () => {
    const text = await token();
    await reviews.accountOf(text);
    isAway = true;
    nowMs += ACCEPTED_MS - 1;
    expect((await reviews.accountOf(text))?.username).toBe(ACCOUNT);
    nowMs += 1;
    expect(await codeOf(reviews.accountOf(text))).toBe('UNAVAILABLE');
  });
});
