import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { Database } from '@coxswain/persistence';
import { runAdminCommand } from './admin-command.ts';
import { type ApiUnderTest, startApiUnderTest } from './testing/api-under-test.ts';
import { environmentOf, migratedPostgres } from './testing/test-database.ts';

let postgres: SharedPostgres;
let databaseUrl: string;
let api: ApiUnderTest;

beforeAll(async () => {
  postgres = migratedPostgres();
  databaseUrl = await postgres.createDatabase('administrators');
  // As the chart starts it: nobody is an administrator until somebody is made one.
  api = await startApiUnderTest({
    databaseUrl,
    adminToken: 'none',
    environment: { COXSWAIN_BOOTSTRAP_TOKEN_FILE: '' },
  });
});

afterAll(async () => {
  await api?.close();
});

async function admin(...argv: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runAdminCommand(argv, {
    connect: () =>
      Database.connect({ url: api.running.infrastructure.database.url, applicationName: 'administrators test' }),
    lifetimeDays: () => 90,
    now: () => new Date(),
    print: (line) => void out.push(line),
    printError: (line) => void err.push(line),
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

const whoIs = (token: string) => api.send('GET', '/v1/whoami', { token });
const refused = (token: string): Promise<unknown> =>
  waitFor(async () => (await whoIs(token)).status === 401, { what: 'the token to be refused' });
const sql = (text: string): Promise<unknown> => api.running.infrastructure.database.query(text);
/** Nobody is an administrator. */
const reset = (): Promise<unknown> => sql("UPDATE api_tokens SET revoked_at = now() WHERE role = 'clusterAdmin'");
const namesOf = async (): Promise<readonly string[]> =>
  (await admin('list')).out.split('\n').map((line) => line.split(' ')[0] ?? '');

beforeEach(reset);

describe('an administrator', () => {
  it('is made by the program beside the API, which prints the token alone', async () => {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [fileURLToPath(new URL('../dist/admin.js', import.meta.url)), 'create', 'ada@example.com'],
      { env: environmentOf(api.running.infrastructure.config.databaseUrls), timeout: 120_000 },
    );
    expect(stdout).toMatch(/^cxs_[0-9a-f]{8}_[0-9A-Za-z]{49}\n$/);
    expect(stderr).toMatch(/^The token of administrator ada@example\.com expires \d{4}-\S+Z\. It is shown this once/);
    expect(await whoIs(stdout.trim())).toMatchObject({
      status: 200,
      body: { name: 'ada@example.com', role: 'clusterAdmin', project: null },
    });
    const { out } = await admin('list');
    expect(out).toMatch(/^ada@example\.com {2}[0-9a-f-]{36} {2}expires /);
    expect(out).not.toContain(stdout.trim().slice(13, 30));
  });

  it('is made once under a name', async () => {
    await admin('create', 'ada');
    expect(await admin('create', 'ada')).toMatchObject({ code: 1, err: expect.stringMatching(/^"ada" is an admin/) });
  });

  it('gets another token when the first is lost, which is good no more', async () => {
    const { out: lost } = await admin('create', 'ada', '--days', '1');
    expect((await whoIs(lost)).status).toBe(200);
    const { out: found } = await admin('recover', 'ada', '--never-expires');
    expect((await whoIs(found)).status).toBe(200);
    await refused(lost);
    expect((await admin('list')).out).toMatch(/^ada {2}\S+ {2}never expires/);
  });

  it('has two while one succeeds the other without a gap, and both go at once', async () => {
    const { out: old } = await admin('create', 'ada');
    const { out: fresh } = await admin('recover', 'ada', '--overlap-hours', '1');
    expect([(await whoIs(old)).status, (await whoIs(fresh)).status]).toEqual([200, 200]);
    await admin('create', 'bob');
    expect((await admin('revoke', 'ada')).out.split('\n')).toHaveLength(2);
    await Promise.all([refused(old), refused(fresh)]);
  });

  it('who is the last one whose token is good cannot be removed by accident, and nobody is locked out afterwards', async () => {
    const { out: token } = await admin('create', 'ada');
    await admin('create', 'expired');
    await sql("UPDATE api_tokens SET expires_at = now() - interval '1 day' WHERE name = 'expired'");
    expect(await admin('revoke', 'ada')).toMatchObject({ code: 1, err: expect.stringMatching(/--even-the-last/) });
    expect((await whoIs(token)).status).toBe(200);
    expect((await admin('revoke', 'ada', '--even-the-last')).code).toBe(0);
    await refused(token);
    const { out: recovered } = await admin('recover', 'expired', '--hours', '1');
    expect((await whoIs(recovered)).status).toBe(200);
  });

  it('can be revoked beside another one, but not both by two who do it at once', async () => {
    await admin('create', 'ada');
    await admin('create', 'bob');
    const codes = await Promise.all([admin('revoke', 'ada'), admin('revoke', 'bob')]);
    expect(codes.map(({ code }) => code).sort()).toEqual([0, 1]);
    expect(await namesOf()).toHaveLength(1);
  });

  it.each(['recover', 'revoke'])('of no such name: %s says who there is', async (command) => {
    await admin('create', 'ada');
    expect(await admin(command, 'bob')).toMatchObject({ code: 1, err: 'no administrator "bob": there are ada' });
  });

  it('is written to a file where that is asked for, and again at a start at which none is good', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'coxswain-admin-'));
    const file = join(directory, 'token');
    const started = async (): Promise<string> => {
      const environment = { COXSWAIN_BOOTSTRAP_TOKEN_FILE: file };
      const other = await startApiUnderTest({ databaseUrl, adminToken: 'none', environment });
      await other.close();
      return readFileSync(file, 'utf8').trim();
    };
    try {
      const first = await started();
      expect(await whoIs(first)).toMatchObject({ status: 200, body: { name: 'bootstrap', role: 'clusterAdmin' } });
      expect(await started()).toBe(first);
      await sql("UPDATE api_tokens SET expires_at = now() WHERE role = 'clusterAdmin'");
      const second = await started();
      expect(second).not.toBe(first);
      expect((await whoIs(second)).status).toBe(200);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('leaves every change in the audit, and no token', async () => {
    await admin('create', 'ada');
    await admin('recover', 'ada');
    await admin('revoke', 'ada', '--even-the-last');
    const { rows } = await api.running.infrastructure.database.query<{ action: string; row: string }>(
      "SELECT action, a::text AS row FROM audit a WHERE target = 'ada' ORDER BY id DESC LIMIT 3",
    );
    expect(rows.map(({ action }) => action)).toEqual([
      'administrator.revoke',
      'administrator.recover',
      'administrator.create',
    ]);
    expect(rows[0]?.row).toContain('a command beside the API');
    for (const { row } of rows) expect(row).not.toContain('cxs_');
  });
});
