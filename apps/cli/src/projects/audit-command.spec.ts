import type { AuditEntry } from '@coxswain/api-types';
import { type Routes, runCommand } from '../testing/run-command.ts';

const AUDIT = 'GET /v1/projects/research/audit';

function anEntry(overrides: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: 7,
    at: '2026-01-09T12:00:00.123Z',
    principalKind: 'service',
    principalId: '00000000-0000-4000-8000-000000000001',
    principal: 'ci',
    project: 'research',
    verb: 'job.create',
    object: 'research/tiny-gpt',
    outcome: 'allowed',
    reason: null,
    requests: 1,
    sourceAddress: '192.0.2.7',
    userAgent: 'curl/8',
    requestId: 'r-1',
    detail: {},
    ...overrides,
  };
}
const DENIED = anEntry({
  id: 6,
  verb: 'token.write',
  object: '/v1/projects/research/tokens',
  outcome: 'denied',
  reason: 'FORBIDDEN',
  requests: 40,
  requestId: 'r-0',
});

async function run(argv: string, routes: Routes = {}) {
  const audit: Routes = { [AUDIT]: { json: { items: [anEntry(), DENIED] } } };
  const { requests, url, ...result } = await runCommand(`audit ${argv}`, { ...audit, ...routes });
  const asked = requests.filter(({ path }) => path.includes('/audit')).map(({ path }) => new URL(path, url));
  return { ...result, asked };
}

describe('coxswain audit', () => {
  it('shows who did what from where, and how often it was refused', async () => {
    const { out } = await run('');
    expect(out.split('\n')).toEqual([
      'TIME (UTC)           PRINCIPAL  VERB         OUTCOME                      OBJECT                        FROM       REQUEST',
      '2026-01-09 12:00:00  ci         job.create   allowed                      research/tiny-gpt             192.0.2.7  r-1',
      '2026-01-09 12:00:00  ci         token.write  denied FORBIDDEN (40 times)  /v1/projects/research/tokens  192.0.2.7  r-0',
    ]);
  });

  it.each<[string, string, Readonly<Record<string, string>>]>([
    ['nothing but a page', '', { pageSize: '100' }],
    ['a time', '--since 2026-01-01T00:00:00Z', { since: '2026-01-01T00:00:00.000Z' }],
    [
      'how long ago',
      '--since 24h --until 30m',
      { since: '2026-01-09T00:00:00.000Z', until: '2026-01-09T23:30:00.000Z' },
    ],
    ['days ago', '--since 7d', { since: '2026-01-03T00:00:00.000Z' }],
    [
      'who, what and how it ended',
      '--principal ci --verb job.create --object research/tiny-gpt --outcome denied',
      { principal: 'ci', verb: 'job.create', object: 'research/tiny-gpt', outcome: 'denied' },
    ],
  ])('asks by %s', async (_sentence, argv, want) => {
    const { code, asked } = await run(argv);
    expect(code).toBe(0);
    expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toEqual({ pageSize: '100', ...want });
  });

  it('reads page after page, up to the limit, and says that there is more', async () => {
    const pages = [
      { json: { items: [anEntry(), DENIED], nextPageToken: 'more' } },
      { json: { items: [anEntry({ id: 5 }), anEntry({ id: 4 })], nextPageToken: 'yet more' } },
    ];
    const { out, err, asked } = await run('--limit 3', { [AUDIT]: pages });
    expect(out.split('\n')).toHaveLength(4);
    expect(err).toBe('More entries exist; use --limit 30.');
    expect(asked.map(({ searchParams }) => searchParams.get('pageToken'))).toEqual([null, 'more']);
  });

  it('is JSON for programs, and the whole cluster for its administrators', async () => {
    const whole = { 'GET /v1/projects/-/audit': { json: { items: [DENIED] } } };
    const { out, err } = await run('--project - -o json', whole);
    expect([JSON.parse(out), err]).toEqual([[DENIED], '']);
  });

  it.each([
    [
      'what is no time',
      '--since yesterday',
      /"yesterday" is not a time; write 2030-01-31T00:00:00Z, or 30m, 24h or 7d/,
    ],
    ['a mere number', '--since 5', /"5" is not a time/],
    ['what is no outcome', '--outcome maybe', /Allowed choices are allowed, denied/],
  ])('refuses %s with what to write, and asks nothing', async (_what, argv, want) => {
    const { code, err, asked } = await run(argv);
    expect([code, asked]).toEqual([1, []]);
    expect(err).toMatch(want);
  });

  it('says so when there is nothing', async () => {
    expect((await run('', { [AUDIT]: { json: { items: [] } } })).out).toMatch(/^No entries\./);
  });
});
