import { DomainError } from '@coxswain/domain-error';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { Authenticator } from './authenticator.ts';
import { credentialOf } from './credential.ts';
import type { Reading } from './group-readings.ts';
import { freshToken } from './token-format.ts';
import { TokenLookup } from './token-lookup.ts';

const known = freshToken();
let row: Record<string, unknown> | undefined;
let now: Date;
let sql: ReturnType<typeof scriptedSql>;
let authenticator: Authenticator;
/** What becomes of the groups of a session, and how often that was asked. */
let reading: Reading | 'away';
let readings: number;
const renew = (): Promise<Reading> => {
  readings++;
  return reading === 'away' ? Promise.reject(new DomainError('UNAVAILABLE', 'away')) : Promise.resolve(reading);
};
const ISSUER = 'https://accounts.example.com';
const SIGN_IN = {
  publicUrl: 'https://coxswain.example.com',
  issuerUrl: ISSUER,
  clientId: 'page',
  clientSecret: undefined,
  cliClientId: 'page',
  scopes: 'openid',
  groupsClaim: 'groups',
  adminGroup: 'platform',
  idleMinutes: 480,
  sessionHours: 24,
};

beforeEach(() => {
  row = {
    id: '3f1c2b9e-0000-4000-8000-000000000001',
    principal_id: '3f1c2b9e-0000-4000-8000-000000000002',
    source: 'token',
    kind: 'service',
    name: 'ci',
    prefix: known.prefix,
    grants: [{ id: '3f1c2b9e-0000-4000-8000-00000000000a', name: 'research', role: 'operator' }],
    person: null,
    secret_sha256: known.secretSha256,
    expires_at: null,
    last_used_at: null,
  };
  reading = 'believed';
  readings = 0;
  now = new Date('2026-01-01T00:00:00Z');
  sql = scriptedSql([
    [
      /find_credentials/,
      ([prefixes]) => (row !== undefined && (prefixes as readonly string[]).includes(known.prefix) ? [row] : []),
    ],
  ]);
  const lookup = new TokenLookup(sql, { clusterId: 'c', idleMinutes: 480 }, () => Promise.resolve());
  authenticator = new Authenticator(lookup, sql, { now: () => now }, { signIn: SIGN_IN }, { renew }, null);
});

const lookups = (): number => sql.statements.filter((text) => text === 'find_credentials').length;
const touches = (): number => sql.statements.filter((text) => text.startsWith('touch_')).length;
const after = (milliseconds: number): void => {
  now = new Date(now.getTime() + milliseconds);
};
const authenticate = (token: string = known.token) => authenticator.authenticate({ by: 'bearer', text: token });

describe('a token', () => {
  it('is its principal', async () => {
    expect(await authenticate()).toEqual({
      id: '3f1c2b9e-0000-4000-8000-000000000002',
      kind: 'service',
      name: 'ci',
      isClusterAdmin: false,
      memberships: [{ id: '3f1c2b9e-0000-4000-8000-00000000000a', name: 'research', role: 'operator' }],
    });
  });

  it('of an administrator has no project', async () => {
    row = { ...row, grants: [{ id: null, name: null, role: 'clusterAdmin' }] };
    expect(await authenticate()).toMatchObject({ isClusterAdmin: true, memberships: [] });
  });

  it('is looked up once in two seconds', async () => {
    await authenticate();
    after(1_999);
    await authenticate();
    expect(lookups()).toBe(1);
    after(1);
    await authenticate();
    expect(lookups()).toBe(2);
  });

  it('that was revoked is refused two seconds later at the latest', async () => {
    await authenticate();
    row = undefined;
    after(2_000);
    await expect(authenticate()).rejects.toThrow(DomainError);
  });

  it('is refused from the moment at which it expires, though it was just seen', async () => {
    row = { ...row, expires_at: new Date(now.getTime() + 1_000) };
    await authenticate();
    after(1_000);
    await expect(authenticate()).rejects.toThrow(DomainError);
  });

  it('is noted as used once an hour, however often it is looked up', async () => {
    await authenticate();
    expect(touches()).toBe(1);
    row = { ...row, last_used_at: new Date('2026-01-01T00:00:00Z') };
    after(3_599_999);
    await authenticate();
    expect(touches()).toBe(1);
    after(2_000);
    await authenticate();
    expect(touches()).toBe(2);
  });

  it.each([
    ['that was cut off', known.token.slice(0, -1)],
    ['with a character too many', `${known.token}0`],
    ['of which one letter is another', known.token.replace(/.$/, (last) => (last === '0' ? '1' : '0'))],
    ['that is no token at all', 'ghp_0123456789abcdef0123456789abcdef0123'],
  ])('%s costs no query', async (_sentence, bad) => {
    await expect(authenticate(bad)).rejects.toThrow(DomainError);
    expect(lookups()).toBe(0);
  });

  it('is refused in one sentence, whatever is wrong with it', async () => {
    const [prefix, other] = [known.prefix, freshToken()];
    const ofAnEarlierRelease = `cxs_${prefix}_${'A'.repeat(43)}`;
    const headers = [
      undefined,
      '',
      known.token,
      `Basic ${known.token}`,
      'Bearer garbage',
      `Bearer ${other.token}`,
      `Bearer ${ofAnEarlierRelease}`,
      `Bearer ${known.token} `,
      `Bearer ${'a'.repeat(100_000)}`,
    ];
    const sentences = await Promise.all(
      headers.map((header) =>
        authenticator.authenticate(credentialOf({ authorization: header })).then(
          () => 'let in',
          (error: unknown) => `${(error as DomainError).code} ${(error as Error).message}`,
        ),
      ),
    );
    expect(new Set(sentences)).toEqual(
      new Set(['UNAUTHENTICATED send a valid API token as "Authorization: Bearer cxs_…", or sign in again if you had']),
    );
  });
});

describe('a session', () => {
  const person = { issuer: ISSUER, subject: 'ada', groups: ['research'], groupsReadAt: '2026-01-01T00:00:00Z' };
  const byCookie = () => authenticator.authenticate({ by: 'cookie', text: known.token });
  beforeEach(() => {
    row = { ...row, source: 'page', kind: 'person', name: 'ada', person };
  });
  const outcomeOf = (act: Promise<unknown>): Promise<unknown> =>
    act.catch((error: unknown) => (error instanceof DomainError ? error.code : error));

  it('is the person, with the roles of its groups', async () => {
    row = {
      ...row,
      grants: [
        { id: 'a', name: 'a', role: 'viewer' },
        { id: 'b', name: 'b', role: 'admin' },
      ],
    };
    expect(await byCookie()).toMatchObject({
      id: '3f1c2b9e-0000-4000-8000-000000000002',
      kind: 'person',
      isClusterAdmin: false,
      memberships: [
        { name: 'a', role: 'viewer' },
        { name: 'b', role: 'admin' },
      ],
    });
  });

  it('of the installation’s own group is an administrator’s', async () => {
    row = { ...row, grants: [], person: { ...person, groups: ['platform'] } };
    expect(await byCookie()).toMatchObject({ isClusterAdmin: true });
  });

  it.each<[string, () => Promise<unknown>, object, unknown]>([
    ['of the page is no token', () => authenticate(), {}, 'UNAUTHENTICATED'],
    ['of a command line is no cookie', byCookie, { source: 'commandLine' }, 'UNAUTHENTICATED'],
    [
      'of a command line is a token',
      () => authenticate(),
      { source: 'commandLine' },
      expect.objectContaining({ name: 'ada' }),
    ],
    [
      'of another issuer is over',
      byCookie,
      { person: { ...person, issuer: 'https://other.example.com' } },
      'UNAUTHENTICATED',
    ],
    ['of somebody whose groups have no role any more lets in to nothing', byCookie, { grants: [] }, 'FORBIDDEN'],
    ['that is a token is no cookie', byCookie, { source: 'token', person: null }, 'UNAUTHENTICATED'],
  ])('%s', async (_sentence, act, change, want) => {
    row = { ...row, ...change };
    expect(await outcomeOf(act())).toEqual(want);
  });

  it('is looked up again when its groups were read again, and is over when the issuer says so', async () => {
    reading = 'read';
    await byCookie();
    expect([lookups(), readings]).toEqual([2, 1]);
    after(2_000);
    reading = 'ended';
    expect(await outcomeOf(byCookie())).toBe('UNAUTHENTICATED');
  });

  it.each<[string, () => void, string]>([
    ['has no role', () => (row = { ...row, grants: [] }), 'FORBIDDEN'],
    ['is one whose issuer is away', () => (reading = 'away'), 'UNAVAILABLE'],
  ])('of somebody who %s costs one look in two seconds, however often he asks', async (_who, prepare, code) => {
    prepare();
    const asked = await Promise.all(Array.from({ length: 20 }, () => outcomeOf(byCookie())));
    expect(await outcomeOf(byCookie())).toBe(code);
    expect(new Set(asked)).toEqual(new Set([code]));
    expect([lookups(), readings]).toEqual([1, 1]);
    after(2_000);
    reading = 'believed';
    row = { ...row, grants: [{ id: 'a', name: 'a', role: 'viewer' }] };
    expect(await byCookie()).toMatchObject({ name: 'ada' });
  });

  it('that ends while it is looked up lets nobody in afterwards', async () => {
    const before = byCookie();
    authenticator.forget({ by: 'cookie', text: known.token });
    row = undefined;
    await outcomeOf(before);
    expect(await outcomeOf(byCookie())).toBe('UNAUTHENTICATED');
  });

  it('that was ended here is refused at once', async () => {
    await byCookie();
    row = undefined;
    authenticator.forget({ by: 'cookie', text: known.token });
    expect(await outcomeOf(byCookie())).toBe('UNAUTHENTICATED');
  });

  it('is noted as used once a minute', async () => {
    row = { ...row, last_used_at: now };
    await byCookie();
    expect(touches()).toBe(0);
    after(60_000);
    await byCookie();
    expect(touches()).toBe(1);
  });

  it('is none where nobody can sign in', async () => {
    const lookup = new TokenLookup(sql, { clusterId: 'c', idleMinutes: 0 }, () => Promise.resolve());
    authenticator = new Authenticator(lookup, sql, { now: () => now }, { signIn: undefined }, null, null);
    expect(await outcomeOf(byCookie())).toBe('UNAUTHENTICATED');
  });
});
