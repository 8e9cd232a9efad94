import { DomainError } from '@coxswain/domain-error';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { Authenticator } from './authenticator.ts';
import { freshToken } from './token-format.ts';
import { TokenLookup } from './token-lookup.ts';

const known = freshToken();
let row: Record<string, unknown> | undefined;
let now: Date;
let sql: ReturnType<typeof scriptedSql>;
let authenticator: Authenticator;

beforeEach(() => {
  row = {
    id: '3f1c2b9e-0000-4000-8000-000000000001',
    name: 'ci',
    prefix: known.prefix,
    role: 'operator',
    secret_sha256: known.secretSha256,
    expires_at: null,
    last_used_at: null,
    project_id: '3f1c2b9e-0000-4000-8000-00000000000a',
    project_name: 'research',
  };
  now = new Date('2026-01-01T00:00:00Z');
  sql = scriptedSql([
    [
      /FROM api_tokens/,
      ([prefixes]) => (row !== undefined && (prefixes as readonly string[]).includes(known.prefix) ? [row] : []),
    ],
  ]);
  authenticator = new Authenticator(new TokenLookup(sql, () => Promise.resolve()), sql, { now: () => now });
});

const lookups = (): number => sql.statements.filter((text) => text.includes('FROM api_tokens')).length;
const touches = (): number => sql.statements.filter((text) => text.includes('SET last_used_at')).length;
const after = (milliseconds: number): void => {
  now = new Date(now.getTime() + milliseconds);
};
const authenticate = (token: string = known.token) => authenticator.authenticate(`Bearer ${token}`);

describe('a token', () => {
  it('is its principal', async () => {
    expect(await authenticate()).toEqual({
      tokenId: '3f1c2b9e-0000-4000-8000-000000000001',
      name: 'ci',
      role: 'operator',
      project: { id: '3f1c2b9e-0000-4000-8000-00000000000a', name: 'research' },
    });
  });

  it('of an administrator has no project', async () => {
    row = { ...row, role: 'clusterAdmin', project_id: null, project_name: null };
    expect(await authenticate()).toMatchObject({ role: 'clusterAdmin', project: null });
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
        authenticator.authenticate(header).then(
          () => 'let in',
          (error: unknown) => `${(error as DomainError).code} ${(error as Error).message}`,
        ),
      ),
    );
    expect(new Set(sentences)).toEqual(
      new Set(['UNAUTHENTICATED send a valid API token as "Authorization: Bearer cxs_…"']),
    );
  });
});
