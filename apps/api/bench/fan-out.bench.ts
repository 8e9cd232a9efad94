/**
 * What do watchers of one job cost? The API over HTTP with a real PostgreSQL; a job whose steps come 20 a second is watched by one, and by many, who are in a process of their
 * own. 32 share a token, as many as one may open.
 *
 * Run: `npm run api:bench -- fan-out [WATCHERS [SECONDS]]`, default 2,000 and 20. Ends with 1 when many cost the database more than a tenth more transactions than one,
 * or when a step reached somebody after more than two seconds. The last line is one JSON object.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, startPostgres, startProcess, waitFor } from '@coxswain/local-cluster';
import { freshToken } from '../src/auth/token-format.ts';
import type { Cluster } from '../src/infrastructure/tokens.ts';
import { SeriesStore } from '../src/series/series-store.ts';
import { aStepFrame } from '../src/series/testing/a-step-frame.ts';
import { createTestDatabase, environmentOf, type TestDatabase } from '../src/testing/test-database.ts';

const PER_TOKEN = 32;
const STEPS_PER_SECOND = 20;
const BATCH_MS = 250;
const LATEST_MS = 2_000;
/** A connection that falls idle tells what it did after ten seconds: else opening the streams is counted among what they cost. */
const BACKENDS_TELL_MS = 11_000;

/** What the process of the watchers is told, and tells. */
interface Crowd {
  readonly url: string;
  readonly tokens: readonly string[];
  readonly watchers: number;
}
interface Heard {
  readonly steps: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly latestMs: number;
}
interface Cost extends Heard {
  readonly watchers: number;
  /** Every watcher was given every step. */
  readonly isAllHeard: boolean;
  readonly transactionsPerSecond: number;
  readonly processorPct: number;
  readonly residentMib: number;
}

const HELP = `npm run api:bench -- fan-out [WATCHERS [SECONDS]]

What so many who watch one job (2,000) cost the database and the API in so many seconds (20), beside one who watches. The bars: at most a tenth more transactions
than one, and no step later than two seconds.
`;

if (process.argv.includes('--help')) process.stdout.write(HELP);
else if (process.send === undefined) await serve(Number(process.argv[2] ?? 2_000), Number(process.argv[3] ?? 20));
else process.once('message', (crowd: Crowd) => void watchAll(crowd));

async function serve(watchers: number, seconds: number): Promise<void> {
  const postgres = await startPostgres();
  const there = await createTestDatabase(postgres, 'bench');
  const cluster = { id: randomUUID(), name: 'default' };
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/healthz`;
  // As it was built: Node by itself runs no decorators.
  const api = await startProcess({
    name: 'api',
    command: process.execPath,
    args: [join(import.meta.dirname, '../dist/main.js')],
    env: {
      ...environmentOf(there.urls),
      COXSWAIN_LISTEN_PORT: String(port),
      COXSWAIN_ROLE: 'api',
      COXSWAIN_CLUSTER_ID: cluster.id,
      COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '0',
      COXSWAIN_PROJECT_CPU_MS_PER_SECOND: '0',
      COXSWAIN_PRINCIPAL_CPU_MS_PER_SECOND: '0',
      COXSWAIN_PROJECT_WRITES_PER_MINUTE: '0',
      COXSWAIN_LOG_LEVEL: 'warn',
    },
    logPath: join(mkdtempSync(join(tmpdir(), 'fan-out-')), 'api.log'),
  });
  try {
    await waitFor(async () => (await fetch(url)).ok, { what: 'the API' });
    const bench = { ...there, cluster, pid: api.pid };
    const [job, tokens] = [await aJob(bench), await tokensOf(bench, Math.ceil(watchers / PER_TOKEN))];
    const stream = `http://127.0.0.1:${port}/v1/projects/research/jobs/${job.id}/events/stream`;
    const one = await costOf(bench, { url: stream, tokens, watchers: 1, uid: job.uid, seconds });
    const many = await costOf(bench, { url: stream, tokens, watchers, uid: job.uid, seconds });
    const isCheap =
      many.isAllHeard &&
      many.transactionsPerSecond <= 1.1 * one.transactionsPerSecond + 1 &&
      many.latestMs <= LATEST_MS;
    console.log(JSON.stringify({ one, many, isCheap }));
    process.exitCode = isCheap ? 0 : 1;
  } finally {
    await api.stop({ graceMs: 5_000 });
    await there.close();
    await postgres.stop();
  }
}

interface Bench extends Pick<TestDatabase, 'database'> {
  readonly cluster: Cluster;
  /** Of the API. */
  readonly pid: number;
}

async function aJob({ database, cluster }: Bench): Promise<{ readonly id: string; readonly uid: string }> {
  const job = { id: randomUUID(), uid: randomUUID() };
  const project = randomUUID();
  await database.query("INSERT INTO projects (id, cluster_id, name) VALUES ($1, $2, 'research')", [
    project,
    cluster.id,
  ]);
  await database.query(
    `INSERT INTO jobs (id, cluster_id, uid, project_id, namespace, name, spec, state)
     VALUES ($1, $2, $3, $4, 'research', 'tiny', '{}', 'Running')`,
    [job.id, cluster.id, job.uid, project],
  );
  return job;
}

/** Each of a service of its own: streams are limited by who opens them. */
async function tokensOf({ database }: Bench, count: number): Promise<readonly string[]> {
  const tokens = Array.from({ length: count }, () => ({ id: randomUUID(), ...freshToken() }));
  for (const { id, prefix, secretSha256 } of tokens) {
    await database.query(
      `INSERT INTO principals (id, project_id, kind, issuer, subject, name)
       SELECT $1::uuid, id, 'service', '', $1::uuid::text, 'watcher' FROM projects WHERE name = 'research'`,
      [id],
    );
    await database.query(
      `INSERT INTO api_tokens (id, project_id, principal_id, name, role, prefix, secret_sha256)
       SELECT $1::uuid, id, $1::uuid, 'watcher', 'viewer', $2, $3 FROM projects WHERE name = 'research'`,
      [id, prefix, secretSha256],
    );
  }
  return tokens.map(({ token }) => token);
}

/** Milliseconds of processor time that a process has used (Linux: 100 ticks a second), and what it holds in memory. */
function usageOf(pid: number): { readonly cpuMs: number; readonly residentMib: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return {
    cpuMs: 10 * (Number(fields[11]) + Number(fields[12])),
    residentMib: Math.round((Number(fields[21]) * 4_096) / 1_048_576),
  };
}

async function costOf(
  bench: Bench,
  { uid, seconds, ...crowd }: Crowd & { readonly uid: string; readonly seconds: number },
): Promise<Cost> {
  const child = fork(import.meta.filename, { execArgv: ['--disable-warning=ExperimentalWarning'] });
  await told(child, crowd);
  const { database, cluster, pid } = bench;
  const store = new SeriesStore(database, cluster);
  await delay(BACKENDS_TELL_MS);
  const before = await transactions(bench);
  const [cpu, begunMs] = [usageOf(pid), performance.now()];
  let written = 0;
  // Above those of a run before: a step that comes again is no change.
  let step = Date.now();
  while (performance.now() - begunMs < seconds * 1_000) {
    const frames = Array.from({ length: (STEPS_PER_SECOND * BATCH_MS) / 1_000 }, () =>
      aStepFrame({ jobUid: uid, step: step++, loss: 2, tokens: 4_096, at: new Date().toISOString() }),
    );
    await store.write(frames, []);
    written += frames.length;
    await delay(BATCH_MS);
  }
  const tookMs = performance.now() - begunMs;
  const used = usageOf(pid);
  const after = await transactions(bench);
  const heard = await told<Heard>(child, 'what was heard');
  child.kill();
  const cost = {
    ...heard,
    watchers: crowd.watchers,
    isAllHeard: heard.steps === written * crowd.watchers,
    transactionsPerSecond: Math.round(((after - before) * 10_000) / tookMs) / 10,
    processorPct: Math.round((100 * (used.cpuMs - cpu.cpuMs)) / tookMs),
    residentMib: used.residentMib,
  };
  console.log(
    `${cost.watchers} watchers: ${cost.transactionsPerSecond} transactions/s, ${cost.processorPct} % of a core, ` +
      `${cost.residentMib} MiB; ${cost.steps} steps delivered, after ${cost.p50Ms} ms (p50), ${cost.p99Ms} ms (p99), ${cost.latestMs} ms at most`,
  );
  return cost;
}

/** Of the whole database, those that write the steps included. */
async function transactions({ database }: Bench): Promise<number> {
  await database.query('SELECT pg_stat_force_next_flush()');
  await delay(1_500);
  const found = await database.query<{ n: number }>(
    'SELECT (xact_commit + xact_rollback)::double precision AS n FROM pg_stat_database WHERE datname = current_database()',
  );
  return found.rows[0]?.n ?? NaN;
}

function told<T>(child: ChildProcess, message: Crowd | string): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (answer) => resolve(answer as T));
    child.once('exit', () => reject(new Error('the watchers are gone')));
    child.send(message);
  });
}

async function watchAll({ url, tokens, watchers }: Crowd): Promise<void> {
  const delaysMs: number[] = [];
  for (let first = 0; first < watchers; first += 64) {
    const some = Array.from({ length: Math.min(64, watchers - first) }, (_, index) => first + index);
    await Promise.all(some.map((index) => watch(url, tokens[Math.floor(index / PER_TOKEN)] ?? '', delaysMs)));
  }
  process.send?.('ready');
  process.once('message', () => {
    delaysMs.sort((a, b) => a - b);
    const at = (part: number): number => Math.round(delaysMs[Math.floor(part * (delaysMs.length - 1))] ?? NaN);
    const heard: Heard = { steps: delaysMs.length, p50Ms: at(0.5), p99Ms: at(0.99), latestMs: at(1) };
    process.send?.(heard);
  });
}

/** Resolves when the job is there; notes how old each step is when it comes. */
function watch(url: string, token: string, delaysMs: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, headers: { authorization: `Bearer ${token}` } }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`answered ${response.statusCode ?? 0}`));
      let rest = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        const blocks = (rest + chunk).split('\n\n');
        rest = blocks.pop() ?? '';
        const nowMs = Date.now();
        for (const block of blocks) {
          if (block.startsWith('event: job')) resolve();
          const at = block.startsWith('event: step') ? /"at":"([^"]+)"/.exec(block)?.[1] : undefined;
          if (at !== undefined) delaysMs.push(nowMs - Date.parse(at));
        }
      });
    });
    request.on('error', reject);
  });
}
