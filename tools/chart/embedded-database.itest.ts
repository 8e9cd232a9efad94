import { Database, DatabaseError } from '@coxswain/persistence';
import {
  freePort,
  serverFiles,
  serverUser,
  startControlPlane,
  startProcess,
  SYSTEM_NAMESPACE,
  waitFor,
  type ControlPlane,
  type ProcessHandle,
} from '@coxswain/local-cluster';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { rolesToUse } from '../../apps/api/src/infrastructure/databases.ts';
import { CHART, renderChart } from './render.ts';

const PREPARE = resolve(import.meta.dirname, '../../apps/api/dist/prepare-database.js');
const files = serverFiles();

let plane: ControlPlane;
/** What the pod mounts beside its claim. */
let home: string;
/** The claim. */
let claim: string;
let host: string;
const door = createServer((client) => client.destroy());
let starts = 0;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'embedded-database-'));
  chmodSync(home, 0o755);
  claim = files.newDataFolder?.(home) ?? join(home, 'claim');
  mkdirSync(claim);
  files.giveAway?.(claim);
  // Jobs know the port long before the server has it, and it is free while the server is made or down: nobody else may take it meanwhile.
  const port = await freePort();
  await once(door.listen(port, '127.0.0.1'), 'listening');
  host = `127.0.0.1:${port}`;
  plane = await startControlPlane({ scheduler: false, controllerManager: false });
  await plane.kubectl(['create', 'namespace', SYSTEM_NAMESPACE]);
  const input = await renderChart({ templates: ['templates/prepare-database.yaml'] });
  await plane.kubectl(['apply', '--server-side', '-f', '-'], { input });
});
afterAll(async () => {
  door.close();
  await plane?.stop();
  for (const folder of [claim, home]) rmSync(folder, { recursive: true, force: true });
});

/** The very command of the StatefulSet's container, as a user that is not root. */
async function startServer(password: string): Promise<ProcessHandle> {
  if (door.listening) await once(door.close(), 'close');
  writeFileSync(join(home, 'password'), password);
  starts += 1;
  const user = serverUser();
  return startProcess({
    name: 'embedded database',
    command: '/bin/sh',
    args: [join(CHART, 'files/start-postgresql.sh')],
    env: {
      PATH: `${dirname(files.programs.initdb)}:/usr/bin:/bin`,
      PGDATA: join(claim, 'pgdata'),
      PASSWORD_FILE: join(home, 'password'),
      HBA_FILE: join(CHART, 'files/pg_hba.conf'),
      SOCKET_FOLDER: claim,
      LISTEN_ADDRESSES: '127.0.0.1',
      PORT: host.split(':')[1],
    },
    cwd: '/',
    ...(user === undefined ? {} : { user: user.name }),
    logPath: join(home, `${starts}.log`),
    ready: { check: () => ask('wrong', 'SELECT 1').catch(isAnswered), deadlineMs: 120_000 },
  });
}

/** A server that refuses a password takes connections. */
function isAnswered(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '28P01';
}

async function ask(password: string, statement: string): Promise<boolean> {
  const url = `postgresql://postgres:${password}@${host}/coxswain`;
  const database = await Database.connect({ url, applicationName: 'test', maxConnections: 1 });
  try {
    return (await database.query(statement)).rows.length > 0;
  } finally {
    await database.close();
  }
}

/** The program of the Job, with the rights of its account alone. */
async function prepare(name: string): Promise<{ readonly code: number | null; readonly printed: string }> {
  const account = { namespace: SYSTEM_NAMESPACE, serviceAccount: 'coxswain-prepare-database' };
  const logPath = join(home, `${name}.log`);
  const program = await startProcess({
    name,
    command: process.execPath,
    args: [PREPARE],
    env: {
      PATH: process.env['PATH'],
      COXSWAIN_KUBECONFIG: await plane.kubeconfigFor(account),
      COXSWAIN_NAMESPACE: SYSTEM_NAMESPACE,
      COXSWAIN_EMBEDDED_DATABASE_HOST: host,
    },
    logPath,
  });
  const { code } = await program.exited;
  return { code, printed: readFileSync(logPath, 'utf8') };
}

async function secret(name: string): Promise<Readonly<Record<string, string>>> {
  const text = await plane.kubectl(['-n', SYSTEM_NAMESPACE, 'get', 'secret', name, '-o', 'json']);
  const { data } = JSON.parse(text) as { data: Record<string, string> };
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
  );
}

function urlsOf(kept: Readonly<Record<string, string>>) {
  const url = (key: string): string => kept[key] ?? '';
  return {
    runtime: url('url'),
    system: url('system-url'),
    queue: url('queue-url'),
    migrator: url('migrator-url'),
  };
}

// In this order: the life of one installation.
describe('the embedded database', () => {
  let server: ProcessHandle;
  let kept: Readonly<Record<string, string>>;
  let admin: string;

  it('is prepared once, however many Jobs run, all of which wait for it; the API then has roles that policies bind', async () => {
    const jobs = Promise.all([prepare('job-1'), prepare('job-2')]);
    ({ admin = '' } = await waitFor(() => secret('coxswain-database-passwords'), { what: 'passwords' }));
    await expect(secret('coxswain-database-urls')).rejects.toThrow(/not found/);
    server = await startServer(admin);
    for (const { code, printed } of await jobs)
      expect([code, printed]).toEqual([0, expect.stringMatching(/roles are made/)]);
    kept = await secret('coxswain-database-urls');
    expect(Object.keys(kept).sort()).toEqual(['migrator-url', 'queue-url', 'system-url', 'url']);
    expect(await rolesToUse({ databaseUrls: urlsOf(kept), hasSingleDatabaseRole: false })).toMatchObject({
      runtime: 'coxswain_runtime',
    });
  });

  it('keeps passwords and URLs when the Job runs again, as it does with each release', async () => {
    expect((await prepare('job-3')).code).toBe(0);
    expect(await secret('coxswain-database-urls')).toEqual(kept);
  });

  it('ends within its grace while clients are connected, and has its data when it is back', async () => {
    await ask(admin, 'CREATE TABLE mine (x int)');
    const { databaseUrls } = { databaseUrls: urlsOf(kept) };
    const client = await Database.connect({ url: databaseUrls.system, applicationName: 'a client', maxConnections: 1 });
    await client.query('SELECT 1');
    expect(await server.stop({ graceMs: 30_000 })).toEqual({ code: 0, signal: null });
    await client.close();
    server = await startServer(admin);
    expect(await ask(admin, "SELECT FROM pg_tables WHERE tablename = 'mine'")).toBe(true);
  });

  it('takes the password of a Secret that was made anew beside old data', async () => {
    await server.stop();
    server = await startServer('another1password');
    expect(await ask('another1password', "SELECT FROM pg_tables WHERE tablename = 'mine'")).toBe(true);
    await expect(ask(admin, 'SELECT 1')).rejects.toThrow(/password/);
    await server.stop();
  });

  it('refuses data of another major version, and says what to do', async () => {
    const path = join(claim, 'pgdata/PG_VERSION');
    const ours = readFileSync(path, 'utf8');
    writeFileSync(path, '12\n');
    await expect(startServer('any')).rejects.toThrow(
      /The claim holds data of PostgreSQL 12 and the image is PostgreSQL \d+, which cannot read it\. Set database\.embedded\.image\.tag to 12/,
    );
    writeFileSync(path, ours);
  });

  it('begins anew where it was killed while it was made', async () => {
    renameSync(join(claim, 'pgdata'), join(claim, 'pgdata.new'));
    server = await startServer('fresh1password');
    await expect(ask('fresh1password', 'SELECT FROM mine')).rejects.toThrow(/does not exist/);
    await server.stop();
  });

  it('touches no folder that somebody filled and that is no database', async () => {
    const data = join(claim, 'pgdata');
    rmSync(join(data, 'PG_VERSION'));
    const before = readdirSync(data);
    await expect(startServer('any')).rejects.toThrow(/holds files and no PG_VERSION.*Nothing was touched/);
    expect(readdirSync(data)).toEqual(before);
  });

  it('makes a database in place of an empty folder', async () => {
    rmSync(join(claim, 'pgdata'), { recursive: true });
    mkdirSync(join(claim, 'pgdata'));
    files.giveAway?.(join(claim, 'pgdata'));
    server = await startServer('empty1password');
    expect(await ask('empty1password', 'SELECT 1')).toBe(true);
    await server.stop();
  });
});
