import { keyOf } from '../identity/seal.ts';
import { ownAddress, PENDING_SECONDS, sealPending, unsealPending } from './pending-sign-in.ts';

const [key, otherKey] = [keyOf('a', 'test'), keyOf('b', 'test')];
const now = new Date('2026-01-01T00:00:00Z');
const after = (seconds: number): Date => new Date(now.getTime() + seconds * 1_000);
const pending = { state: 's', nonce: 'n', verifier: 'v', returnTo: '/' };

/** With another last character but one: the last one of base64 has bits that do not count. */
function changed(cookie: string): string {
  return `${cookie.slice(0, -2)}${cookie.at(-2) === '_' ? 'A' : '_'}${cookie.slice(-1)}`;
}

describe('what a browser brings back from the issuer', () => {
  it('is what it was given', async () => {
    const cookie = await sealPending(pending, { key, now });
    expect(await unsealPending(cookie, { key, now: after(PENDING_SECONDS - 1) })).toEqual(pending);
  });

  it('fits a cookie, however long the address is that the person goes on at', async () => {
    const returnTo = ownAddress(`/${'a'.repeat(999)}`);
    expect(returnTo).toHaveLength(1_000);
    const state = 's'.repeat(43);
    const cookie = await sealPending({ state, nonce: state, verifier: state, returnTo }, { key, now });
    expect(Buffer.byteLength(cookie)).toBeLessThan(3_000);
  });

  it.each<[string, (cookie: string) => Promise<unknown>]>([
    ['is nothing when it is too old', (cookie) => unsealPending(cookie, { key, now: after(PENDING_SECONDS + 1) })],
    ['is nothing when another key sealed it', (cookie) => unsealPending(cookie, { key: otherKey, now })],
    ['is nothing when it was changed', (cookie) => unsealPending(changed(cookie), { key, now })],
    ['is nothing when there is none', () => unsealPending(undefined, { key, now })],
    ['is nothing when it is garbage', () => unsealPending('a.b.c.d.e', { key, now })],
  ])('%s', async (_sentence, read) => {
    expect(await read(await sealPending(pending, { key, now }))).toBeUndefined();
  });
});

describe('an address to go on at', () => {
  it.each([
    ['/projects/a/jobs/b?x=1', '/projects/a/jobs/b?x=1'],
    ['/', '/'],
    [undefined, '/'],
    ['', '/'],
    ['https://evil.example.com', '/'],
    ['//evil.example.com', '/'],
    ['/\\evil.example.com', '/'],
    ['/a\\b', '/'],
    ['/a\r\nset-cookie: b', '/'],
    [`/${'a'.repeat(1_000)}`, '/'],
  ])('%j leads to %j', (returnTo, want) => {
    expect(ownAddress(returnTo)).toBe(want);
  });
});
