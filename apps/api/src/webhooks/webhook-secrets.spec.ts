import { freshSecret, sealSecret, unsealSecret } from './webhook-secrets.ts';

const key = new Uint8Array(32).fill(1);
const now = new Date(Date.UTC(2026, 0, 1));

describe('a signing secret', () => {
  it('is whsec_ and the base64 of 32 bytes, another each time', () => {
    const [one, other] = [freshSecret(), freshSecret()];
    expect(one).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(one).not.toBe(other);
  });

  it('is read again with its key by its endpoint alone, however much later', async () => {
    const secret = freshSecret();
    const sealed = await sealSecret(secret, { webhookId: 'a', key });
    expect(sealed).not.toContain(secret.slice(6));
    const later = new Date(Date.UTC(2036, 0, 1));
    expect(await unsealSecret(sealed, { webhookId: 'a', key, now: later })).toBe(secret);
    expect(await unsealSecret(sealed, { webhookId: 'b', key, now })).toBeUndefined();
    const otherKey = new Uint8Array(32).fill(2);
    expect(await unsealSecret(sealed, { webhookId: 'a', key: otherKey, now })).toBeUndefined();
    expect(await unsealSecret(`${sealed}A`, { webhookId: 'a', key, now })).toBeUndefined();
  });
});
