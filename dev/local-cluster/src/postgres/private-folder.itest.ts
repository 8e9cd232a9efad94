import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../../../..');

/** Starts PostgreSQL, asks it something, and says which user it runs as. */
const PROGRAM = `
  import { startPostgres } from '@coxswain/local-cluster';
  import { Client } from 'pg';
  const server = await startPostgres();
  const client = new Client({ connectionString: await server.createDatabase('private') });
  await client.connect();
  const { rows } = await client.query("SELECT 6 * 7 AS answer, pg_read_file('/proc/self/status') AS status");
  await client.end();
  await server.stop();
  console.log(JSON.stringify({ answer: rows[0].answer, uid: /^Uid:\\t(\\d+)/m.exec(rows[0].status)[1] }));
`;

describe('a checkout below a folder that only its owner may enter', () => {
  let home: string;
  let checkout: string;

  beforeAll(async () => {
    mkdirSync(join(ROOT, '.coxswain'), { recursive: true });
    home = mkdtempSync(join(ROOT, '.coxswain/home-')); // On the disk of the checkout, so that its packages can be linked.
    checkout = join(home, 'checkout');
    mkdirSync(join(checkout, 'node_modules'), { recursive: true });
    // Links of files, not of folders: nothing leads out of the private folder again. Without hidden folders: runners of tests beside this one
    // make and remove files there.
    const copy = 'cp -al "$0"/* "$1"';
    await promisify(execFile)('sh', ['-c', copy, join(ROOT, 'node_modules'), join(checkout, 'node_modules')]);
    cpSync(join(ROOT, 'libs'), join(checkout, 'libs'), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(checkout, 'package.json'));
    writeFileSync(join(checkout, 'program.ts'), PROGRAM);
  });

  afterAll(() => rmSync(home, { recursive: true, force: true }));

  it('runs PostgreSQL, with cache and temporary folder below it too, as a user who is not root', async () => {
    for (const name of ['tmp', 'cache']) mkdirSync(join(home, name), { mode: 0o700 });
    const { NODE_OPTIONS: _ofRunner, COXSWAIN_RUN_DIR: _ofTheTests, ...environment } = process.env;
    const env = { ...environment, HOME: home, TMPDIR: join(home, 'tmp'), XDG_CACHE_HOME: join(home, 'cache') };
    const { stdout } = await promisify(execFile)(process.execPath, [join(checkout, 'program.ts')], {
      env,
      cwd: checkout,
    });
    const { answer, uid } = JSON.parse(stdout) as { answer: number; uid: string };

    expect(answer).toBe(42);
    expect(Number(uid)).toBeGreaterThan(0);
    for (const folder of ['.', 'tmp', 'cache', 'checkout'])
      expect((statSync(join(home, folder)).mode & 0o777).toString(8)).toBe(folder === 'checkout' ? '755' : '700');
  });
});
