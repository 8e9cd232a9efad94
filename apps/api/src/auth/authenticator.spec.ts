import { DomainError } from '@coxswain/domain-error';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { Authenticator } from './authenticator.ts';
import { freshToken } from './token-format.ts';

const known = freshToken();
let row: Record<string, unknown> | undefined;
let now: Date;
let sql: ReturnType<typeof scriptedSql>;
let authenticator: Authenticator;

beforeEach(() => {
  row = {
    id: '3f1c2b9e-0000-4000-8000-000000000001',
    name: 'ci',
    role: 'operator',
    secret_sha256: known.secretSha256,
    expires_at: null,
    project_id: '3f1c2b9e-0000-4000-8000-00000000000a',
    project_name: 'research',
  };
  now = new Date('2026-01-01T00:00:00Z');
  sql = scriptedSql([[/FROM api_tokens/, ([prefix]) => (row !== undefined && prefix === known.prefix ? [row] : [])]]);
  authenticator = new Authenticator(sql, { now: () => now });
});

const lookups = (): number => sql.statements.filter((text) => text.includes('FROM api_tokens')).length;
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

  it('is refused in one sentence, whatever is wrong with it', async () => {
    const [prefix, other] = [known.prefix, freshToken()];
    const secretOfOther = other.token.split('_')[2] ?? '';
    const headers = [
      undefined,
      '',
      known.token,
      `Basic ${known.token}`,
      'Bearer garbage',
      `Bearer ${other.token}`,
      `Bearer cxs_${prefix}_${secretOfOther}`,
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
