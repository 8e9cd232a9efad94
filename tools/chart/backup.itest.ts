/**
 * Backup and restore of the embedded database, by the scripts that the chart mounts. npm's PostgreSQL has no pg_dump, so this test runs the server of the system. It
 * takes seconds: two servers, and an API on each.
 */
import { aJobSpec, anAttempt } from '@coxswain/api-types/testing';
import { freePort, type ProcessHandle, serverFiles, serverUser, startProcess, waitFor } from '@coxswain/local-cluster';
import { Database } from '@coxswain/persistence';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ApiUnderTest, startApiUnderTest } from '../../apps/api/src/testing/api-under-test.ts';
import { mirrorCheckpoint } from '../../apps/api/src/testing/mirrored-checkpoint.ts';
import { rolesOf } from '../../apps/api/src/testing/test-database.ts';
import { CHART } from './render.ts';

const PASSWORD = 'backup1password';
const files = serverFiles();
const home = mkdtempSync(join(tmpdir(), 'coxswain-backup-'));
const folder = join(home, 'backups');
let programs: string;
let port: number;
let url: string;
let server: ProcessHandle;
let starts = 0;
const claims: string[] = [];

beforeAll(async () => {
  programs = foundPrograms();
  chmodSync(home, 0o755);
  mkdirSync(folder);
  port = await freePort();
  url = `postgresql://postgres:${PASSWORD}@127.0.0.1:${port}/coxswain`;
  await startServer();
});
afterAll(async () => {
  await server?.stop();
  for (const one of [...claims, home]) rmSync(one, { recursive: true, force: true });
});

/** Where the system has all of PostgreSQL's programs. */
function foundPrograms(): string {
  const debian = '/usr/lib/postgresql';
  const releases = existsSync(debian) ? readdirSync(debian).map((release) => join(debian, release, 'bin')) : [];
  const folders = [...releases.sort().reverse(), ...(process.env['PATH'] ?? '').split(':')];
  const found = folders.find((one) => ['pg_dump', 'initdb'].every((program) => existsSync(join(one, program))));
  if (found === undefined)
    throw new Error('this test needs PostgreSQL with pg_dump (Debian, Ubuntu: apt install postgresql)');
  return found;
}

/** A server with an empty database, as the StatefulSet starts it on an empty claim. */
async function startServer(): Promise<void> {
  const claim = files.newDataFolder?.(home) ?? join(home, `claim-${starts}`);
  mkdirSync(claim);
  files.giveAway?.(claim);
  claims.push(claim);
  writeFileSync(join(home, 'password'), PASSWORD);
  const user = serverUser();
  server = await startProcess({
    name: 'embedded database',
    command: '/bin/sh',
    args: [join(CHART, 'files/start-postgresql.sh')],
    env: {
      PATH: `${programs}:/usr/bin:/bin`,
      PGDATA: join(claim, 'pgdata'),
      PASSWORD_FILE: join(home, 'password'),
      HBA_FILE: join(CHART, 'files/pg_hba.conf'),
      SOCKET_FOLDER: claim,
      LISTEN_ADDRESSES: '127.0.0.1',
      PORT: `${port}`,
    },
    cwd: '/',
    ...(user === undefined ? {} : { user: user.name }),
    logPath: join(home, `${(starts += 1)}.log`),
    ready: {
      check: () =>
        query('SELECT 1')
          .then((rows) => rows.length > 0)
          .catch(() => false),
      deadlineMs: 120_000,
    },
  });
}

async function query(statement: string): Promise<readonly unknown[]> {
  const database = await Database.connect({ url, applicationName: 'test', maxConnections: 1 });
  try {
    return (await database.query(statement)).rows;
  } finally {
    await database.close();
  }
}

/** Runs a script of the chart as its Job does. Answers what it printed. */
async function run(script: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const env = {
    PATH: `${programs}:/usr/bin:/bin`,
    FOLDER: folder,
    KEEP: '2',
    PGHOST: '127.0.0.1',
    PGPORT: `${port}`,
    PGUSER: 'postgres',
    PGPASSWORD: PASSWORD,
    ...more,
  };
  const done = await promisify(execFile)('/bin/sh', [join(CHART, 'files', script)], { env });
  return done.stdout + done.stderr;
}

const backups = (): readonly string[] => readdirSync(folder).sort();

/** What people would miss: a job, its ledger and its checkpoint. */
async function seenBy(api: ApiUnderTest, token: string, jobId: string): Promise<object> {
  const at = `/v1/projects/research/jobs/${jobId}`;
  const [job, ledger, checkpoints] = await Promise.all(
    [at, `${at}/goodput`, `${at}/checkpoints`].map(async (path) => (await api.send('GET', path, { token })).body),
  );
  return {
    name: job.name,
    spec: job.spec,
    gpuSeconds: ledger.gpuSeconds,
    steps: checkpoints.items.map(({ step }: { step: number }) => step),
  };
}

// In this order: the life of one installation.
describe('the embedded database', () => {
  let token: string;
  let jobId: string;
  let adminToken: string;
  let before: object;

  it('is backed up while the API works, and a restore is refused as long as it does', async () => {
    const api = await startApiUnderTest({ databaseUrl: url });
    ({ adminToken } = api);
    token = await api.project('research');
    const body = { name: 'tiny', spec: aJobSpec() };
    jobId = (await api.send('POST', '/v1/projects/research/jobs', { token, body })).body.id;
    await recordAttempt(api, jobId);
    await mirrorCheckpoint(api, { jobId });
    before = await seenBy(api, token, jobId);
    expect(before).toMatchObject({ name: 'tiny', gpuSeconds: 280, steps: [expect.any(Number)] });
    expect(await run('back-up-postgresql.sh')).toMatch(/^coxswain-\d{8}T\d{6}Z\.dump: \d+ bytes\n$/);
    await expect(run('restore-postgresql.sh')).rejects.toThrow(
      /connections use the database coxswain\. Stop the API first/,
    );
    await api.close();
  });

  it('comes back on an empty server: jobs, ledger, checkpoints, tokens and policies', async () => {
    await server.stop();
    await startServer();
    // As the chart's Job does on each install: roles are in no dump.
    await rolesOf(url);
    expect(await run('restore-postgresql.sh')).toMatch(/restored coxswain-.*\.dump\n$/);
    const api = await startApiUnderTest({ databaseUrl: url, adminToken });
    expect(await seenBy(api, token, jobId)).toEqual(before);
    const stranger = await api.project('rivals');
    expect((await api.send('GET', `/v1/projects/research/jobs/${jobId}`, { token: stranger })).status).toBe(404);
    await api.close();
    expect(await query("SELECT FROM pg_policies WHERE tablename = 'jobs'")).not.toHaveLength(0);
  });

  it('stays as it is where a dump is damaged or not there', async () => {
    const [whole = ''] = backups();
    const damaged = 'coxswain-20200101T000000Z.dump';
    await promisify(execFile)('cp', [join(folder, whole), join(folder, damaged)]);
    truncateSync(join(folder, damaged), 20_000);
    await expect(run('restore-postgresql.sh', { BACKUP: damaged })).rejects.toThrow(/is the one that was there before/);
    await expect(run('restore-postgresql.sh', { BACKUP: 'none' })).rejects.toThrow(
      /There is no backup none .*Those there are: coxswain-/,
    );
    expect(await query(`SELECT FROM jobs WHERE id = '${jobId}'`)).toHaveLength(1);
  });

  it('has the newest backups alone, and none that is half written', async () => {
    const [oldest = '', newest = ''] = backups();
    writeFileSync(join(folder, 'coxswain-20190101T000000Z.dump.new'), 'half');
    // Names have seconds.
    await waitFor(() => Promise.resolve(!newest.includes(new Date().toISOString().slice(17, 19) + 'Z') || undefined), {
      what: 'another second',
    });
    expect(await run('back-up-postgresql.sh')).toContain(`${oldest}: removed, because 2 newer ones are kept`);
    expect(backups()).toEqual([newest, expect.stringMatching(/^coxswain-.*\.dump$/)]);
  });
});

async function recordAttempt({ running }: ApiUnderTest, jobId: string): Promise<void> {
  const attempt = anAttempt({
    stage: 'Ended',
    startedAt: '2026-01-01T00:00:10.000Z',
    runningAt: '2026-01-01T00:00:20.000Z',
    firstStep: { step: 1, at: '2026-01-01T00:00:30.000Z' },
    lastStep: 41,
    lastStepAt: '2026-01-01T00:01:10.000Z',
    endedAt: '2026-01-01T00:01:20.000Z',
    outcome: 'Succeeded',
  });
  const { database, cluster } = running.infrastructure;
  await database.query(
    "UPDATE jobs SET uid = id::text, state = 'Complete', created_at = $1, finished_at = $2 WHERE id = $3",
    [attempt.startedAt, attempt.endedAt, jobId],
  );
  await database.query('INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) VALUES ($1, $2, $3, $4)', [
    cluster.id,
    jobId,
    attempt.epoch,
    JSON.stringify(attempt),
  ]);
}
