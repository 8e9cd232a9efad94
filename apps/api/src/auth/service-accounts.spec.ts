import type { DomainError } from '@coxswain/domain-error';
import type { ServiceAccount } from '../identity/service-account.ts';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { isServiceAccountToken, ServiceAccounts } from './service-accounts.ts';

const ACCOUNT = { username: 'system:serviceaccount:research:pipeline', groups: ['system:serviceaccounts:research'] };
const GRANT = { id: '3f1c2b9e-0000-4000-8000-00000000000a', name: 'research', role: 'submitter' };

let nowMs: number;
let row: { id: string | null; grants: readonly object[] };
let account: ServiceAccount | undefined;
let sql: ReturnType<typeof scriptedSql>;
let accounts: ServiceAccounts;

beforeEach(() => {
  nowMs = 0;
  row = { id: 'known', grants: [GRANT] };
  account = ACCOUNT;
  sql = scriptedSql([
    [/find_service_account/, () => [row]],
    [/record_service_account/, [{ id: 'made' }]],
  ]);
  const reviews = { accountOf: () => Promise.resolve(account) };
  accounts = new ServiceAccounts({ reviews, database: sql, clusterId: 'c', nowMs: () => nowMs });
});

describe('an account of Kubernetes', () => {
  it('is a principal of its name, with the roles of that name and of its groups', async () => {
    const parameters: unknown[] = [];
    sql = scriptedSql([[/find/, (given) => (parameters.push(...given), [row])]]);
    const reviews = { accountOf: () => Promise.resolve(account) };
    accounts = new ServiceAccounts({ reviews, database: sql, clusterId: 'c', nowMs: () => nowMs });
    expect(await accounts.principalOf('t')).toEqual({
      id: 'known',
      kind: 'serviceAccount',
      name: ACCOUNT.username,
      isClusterAdmin: false,
      memberships: [GRANT],
    });
    expect(parameters).toEqual(['c', ACCOUNT.username, ACCOUNT.groups]);
  });

  it('is recorded when it first comes with a role', async () => {
    row = { id: null, grants: [GRANT] };
    expect(await accounts.principalOf('t')).toMatchObject({ id: 'made' });
  });

  it('without a role is refused with its name and the way out, recorded nowhere, and looked up once in two seconds', async () => {
    row = { id: null, grants: [] };
    for (let times = 0; times < 10; times++) {
      const refusal = await accounts.principalOf('t').catch((error: unknown) => error as DomainError);
      expect(refusal).toMatchObject({
        code: 'FORBIDDEN',
        message: expect.stringMatching(/research:pipeline has no role here.*coxswain group grant/),
      });
    }
    expect(sql.statements).toEqual(['find_service_account']);
    nowMs = 2_000;
    row = { id: null, grants: [GRANT] };
    expect(await accounts.principalOf('t')).toMatchObject({ id: 'made' });
  });

  it('that the API server does not know costs no query', async () => {
    account = undefined;
    expect(await accounts.principalOf('t')).toBeUndefined();
    expect(sql.statements).toEqual([]);
  });
});

describe('a credential', () => {
  it.each([
    ['eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl', true],
    ['eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ', false],
    ['cxs_0123abcd_secret', false],
    ['ghp_0123456789abcdef0123456789abcdef0123', false],
  ])('%s is a token of Kubernetes: %s', (text, want) => {
    expect(isServiceAccountToken(text)).toBe(want);
  });
});
