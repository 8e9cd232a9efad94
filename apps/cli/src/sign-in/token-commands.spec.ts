import type { FakeAnswer } from '@coxswain/api-client/testing';
import type { ApiToken } from '@coxswain/api-types';
import { type Routes, runCommand } from '../testing/run-command.ts';

const TOKENS = '/v1/projects/research/tokens';
const SECRET = `cxs_0123abcd_${'s'.repeat(49)}`;
const idOf = (number: number): string => `00000000-0000-4000-8000-00000000000${number}`;

function aToken(overrides: Partial<ApiToken> = {}): ApiToken {
  return {
    id: idOf(1),
    name: 'ci',
    role: 'operator',
    prefix: '0123abcd',
    createdAt: '2026-01-01T00:00:00.000Z',
    expiresAt: '2026-04-10T12:00:00.000Z',
    lastUsedAt: '2026-01-09T13:00:00.000Z',
    rotatedFrom: null,
    ...overrides,
  };
}

async function run(argv: string, routes: Routes) {
  const { requests, ...result } = await runCommand(`token ${argv}`, routes);
  return { ...result, asked: requests.findLast(({ method }) => method !== 'GET') };
}

const listed = (...items: readonly ApiToken[]): Readonly<Record<string, FakeAnswer>> => ({
  [`GET ${TOKENS}`]: { json: { items } },
});
const made: FakeAnswer = { json: { ...aToken(), token: SECRET }, status: 201 };

describe('coxswain token', () => {
  it('list shows when each ends, when it was last used and which were rotated', async () => {
    const items = [
      aToken({ id: idOf(2), rotatedFrom: idOf(1), expiresAt: null, lastUsedAt: null }),
      aToken(),
      aToken({ id: idOf(3), name: 'old', expiresAt: '2026-01-09T00:00:00.000Z' }),
    ];
    const { out } = await run('list', listed(...items));
    expect(out.split('\n')).toEqual([
      'NAME  ROLE      EXPIRES       LAST USED (UTC)            ID',
      `ci    operator  never         never                      ${idOf(2)}`,
      `ci    operator  in 90 d 12 h  2026-01-09 13:00  rotated  ${idOf(1)}`,
      `old   operator  expired       2026-01-09 13:00           ${idOf(3)}`,
    ]);
  });

  it.each<[string, string, object]>([
    ['ends as the installation says', 'create ci', { name: 'ci', role: 'operator' }],
    [
      'ends after the days that were given',
      'create ci --role viewer --days 30',
      { name: 'ci', role: 'viewer', expiresAt: '2026-02-09T00:00:00.000Z' },
    ],
    [
      'never ends when that was said',
      'create ci --never-expires',
      { name: 'ci', role: 'operator', neverExpires: true },
    ],
  ])('create prints a token alone that %s', async (_sentence, argv, body) => {
    const { out, err, asked } = await run(argv, { [`POST ${TOKENS}`]: made });
    expect(asked?.body).toEqual(body);
    expect(out).toBe(SECRET);
    expect(err).toMatch(/^Token ci \(operator\) expires 2026-04-10T12:00Z\. It is shown this once/);
  });

  it('create for a program prints everything at once', async () => {
    const { out, err } = await run('create ci -o json', { [`POST ${TOKENS}`]: made });
    expect(JSON.parse(out)).toMatchObject({ token: SECRET, expiresAt: '2026-04-10T12:00:00.000Z' });
    expect(err).toBe('');
  });

  it.each([
    ['by name, and the old one is good for a day', 'rotate ci', 1, { overlapSeconds: 86_400 }],
    [
      'by id, and the old one ends at once',
      `rotate ${idOf(1)} --overlap-hours 0 --days 1`,
      1,
      { overlapSeconds: 0, expiresAt: '2026-01-11T00:00:00.000Z' },
    ],
  ])('rotate finds a token %s', async (_sentence, argv, number, body) => {
    const { out, asked } = await run(argv, { ...listed(aToken()), [`POST ${TOKENS}/${idOf(number)}/rotate`]: made });
    expect(asked).toMatchObject({ path: `${TOKENS}/${idOf(number)}/rotate`, body });
    expect(out).toBe(SECRET);
  });

  it('rotate by name takes the newest of those that were rotated before', async () => {
    const items = [aToken({ id: idOf(2), rotatedFrom: idOf(1) }), aToken()];
    const { code } = await run('rotate ci', { ...listed(...items), [`POST ${TOKENS}/${idOf(2)}/rotate`]: made });
    expect(code).toBe(0);
  });

  it('revoke says what it revoked', async () => {
    const routes = { ...listed(aToken()), [`DELETE ${TOKENS}/${idOf(1)}`]: { text: '', status: 204 } };
    expect(await run('revoke ci', routes)).toMatchObject({ code: 0, out: `Revoked ci (${idOf(1)}).` });
  });

  it.each([
    [
      'revoke of a name that two bear',
      'revoke ci',
      /^2 tokens are named "ci": give an id, .*0001 \(made 2026-01-01\) or /,
    ],
    ['rotate of a name that two bear', 'rotate ci', /^2 tokens are named "ci"/],
    ['revoke of a name that nobody bears', 'revoke other', /^No token "other"\. `coxswain token list` lists/],
    ['rotate of a token that has expired', 'rotate old', /^No token "old"/],
    ['both days and never', 'create ci --days 3 --never-expires', /cannot be used with/],
  ])('%s is refused, and nothing is changed', async (_sentence, argv, want) => {
    const old = aToken({ id: idOf(3), name: 'old', expiresAt: '2026-01-09T00:00:00.000Z' });
    const { code, err, asked } = await run(argv, listed(aToken(), aToken({ id: idOf(2) }), old));
    expect(err).toMatch(want);
    expect([code, asked]).toEqual([1, undefined]);
  });
});
