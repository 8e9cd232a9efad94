/**
 * How fast does the API read, beside a bare program that runs the same transaction? Run: `npm run api:bench`, or `npm run api:bench -- jobs`; the last line is one JSON object.
 *
 * PostgreSQL, its roles and policies are real, the API is a process of its own as in a pod, and so is the bare program. Both answer the same questions in turns, over
 * as many connections, and the median of the turns is compared: rates depend on the machine, their ratio much less.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { TrainingJobSpec } from '@coxswain/api-types';
import { freePort, type Postgres, type ProcessHandle, startPostgres, startProcess } from '@coxswain/local-cluster';
import { Database } from '@coxswain/persistence';
import { parse } from 'yaml';
import { environmentOf, rolesOf } from '../src/testing/test-database.ts';
import { type Load, loadOf } from './load.ts';
import { ONE_OF, QUESTIONS } from './questions.ts';

const HELP = `npm run api:bench [-- jobs [--quick] [--json FILE]]
npm run api:bench -- series [STEPS]               what a long curve costs to write and to draw
npm run api:bench -- fan-out [WATCHERS [SECONDS]]  what those who watch one job cost

Reads, lists and searches of jobs by REST and one by GraphQL, with 1, 10,000 and 100,000 jobs in a project, over 32 connections, beside a program of
node:http and pg with the same transaction, policies and token check. The bar: at least half of its rate. Takes about 4 minutes.

  --quick       1 and 1,000 jobs, one second a turn: shows that it works
  --json FILE   also write the figures to FILE
`;

const CONNECTIONS = 32;
const LEAST_SHARE = 0.5;
/** Of each program, in turns. */
const TURNS = 3;
const PROJECT = 'bench';

/** The API reads jobs from its database: no cluster is asked for them. */
const NO_CLUSTER = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'none',
  clusters: [{ name: 'none', cluster: { server: 'https://127.0.0.1:9' } }],
  users: [{ name: 'none', user: { token: 'none' } }],
  contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
});

interface Row {
  readonly jobs: number;
  readonly question: string;
  readonly api: Load;
  readonly bare: Load | null;
  /** Rate of the API over that of the bare program. */
  readonly share: number | null;
}

/** Both programs over one database. */
interface World {
  readonly database: Database;
  readonly apiUrl: string;
  readonly bareUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clusterId: string;
  readonly projectId: string;
}

const { values } = parseArgs({
  options: { help: { type: 'boolean', short: 'h' }, quick: { type: 'boolean' }, json: { type: 'string' } },
});
if (values.help === true) process.stdout.write(HELP);
else process.exitCode = await main(values.quick === true);

async function main(isQuick: boolean): Promise<number> {
  const scratch = mkdtempSync(join(tmpdir(), 'coxswain-api-bench-'));
  const postgres = await startPostgres();
  const programs: ProcessHandle[] = [];
  try {
    const world = await prepare(postgres, scratch, programs);
    const rows: Row[] = [];
    for (const jobs of isQuick ? [1, 1_000] : [1, 10_000, 100_000]) {
      console.error(`${jobs} jobs`);
      rows.push(...(await measure(world, { jobs, seconds: isQuick ? 1 : 5 })));
    }
    await world.database.close();
    const report = JSON.stringify({ connections: CONNECTIONS, machine: machine(), rows });
    if (values.json !== undefined) writeFileSync(values.json, `${report}\n`);
    console.log(report);
    return rows.every(({ share }) => share === null || share >= LEAST_SHARE) || isQuick ? 0 : 1;
  } finally {
    await Promise.all(programs.map((program) => program.stop({ graceMs: 5_000 })));
    await postgres.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function prepare(postgres: Postgres, scratch: string, programs: ProcessHandle[]): Promise<World> {
  const superuserUrl = await postgres.createDatabase('bench');
  const urls = await rolesOf(superuserUrl);
  const clusterId = randomUUID();
  const port = await freePort();
  const apiUrl = `http://127.0.0.1:${port}`;
  const kubeconfig = join(scratch, 'kubeconfig');
  writeFileSync(kubeconfig, NO_CLUSTER);
  programs.push(
    await startProcess({
      name: 'API',
      command: process.execPath,
      args: [join(import.meta.dirname, '../dist/main.js')],
      env: {
        PATH: process.env['PATH'],
        ...environmentOf(urls),
        COXSWAIN_CLUSTER_ID: clusterId,
        COXSWAIN_LISTEN_PORT: String(port),
        COXSWAIN_ROLE: 'api',
        COXSWAIN_KUBECONFIG: kubeconfig,
        COXSWAIN_LOG_LEVEL: 'error',
        COXSWAIN_BOOTSTRAP_TOKEN_FILE: join(scratch, 'token'),
        COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '0',
        COXSWAIN_PROJECT_WRITES_PER_MINUTE: '0',
        COXSWAIN_PROJECT_CONCURRENT_REQUESTS: '0',
        COXSWAIN_PROJECT_CPU_MS_PER_SECOND: '0',
        COXSWAIN_PRINCIPAL_CPU_MS_PER_SECOND: '0',
        NODE_ENV: 'production',
      },
      logPath: join(scratch, 'api.log'),
      ready: {
        check: async () => (await fetch(`${apiUrl}/healthz`).catch(() => undefined))?.ok === true,
        deadlineMs: 60_000,
      },
    }),
  );
  const database = await Database.connect({ url: superuserUrl, applicationName: 'bench', statementTimeoutMs: 300_000 });
  const projectId = randomUUID();
  await database.query('INSERT INTO projects (id, cluster_id, name) VALUES ($1, $2, $3)', [
    projectId,
    clusterId,
    PROJECT,
  ]);
  const token = await viewerToken({ apiUrl, adminToken: readFileSync(join(scratch, 'token'), 'utf8').trim() });
  const bareLog = join(scratch, 'bare.log');
  programs.push(
    await startProcess({
      name: 'bare program',
      command: process.execPath,
      args: [join(import.meta.dirname, 'bare-server.ts')],
      env: {
        PATH: process.env['PATH'],
        BENCH_DATABASE_URL: urls.runtime,
        BENCH_CLUSTER_ID: clusterId,
        BENCH_PROJECT_ID: projectId,
        NODE_ENV: 'production',
      },
      logPath: bareLog,
      ready: { check: () => portIn(bareLog) !== undefined, deadlineMs: 20_000 },
    }),
  );
  const headers = { authorization: `Bearer ${token}` };
  return { database, apiUrl, bareUrl: `http://127.0.0.1:${portIn(bareLog)}`, headers, clusterId, projectId };
}

async function viewerToken({
  apiUrl,
  adminToken,
}: {
  readonly apiUrl: string;
  readonly adminToken: string;
}): Promise<string> {
  const answer = await fetch(`${apiUrl}/v1/projects/${PROJECT}/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', role: 'viewer' }),
  });
  if (!answer.ok) throw new Error(`no token was made: ${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { readonly token: string }).token;
}

function portIn(log: string): string | undefined {
  return /^port (\d+)$/m.exec(readFileSync(log, 'utf8'))?.[1];
}

async function measure(
  world: World,
  { jobs, seconds }: { readonly jobs: number; readonly seconds: number },
): Promise<Row[]> {
  const id = await haveJobs(world, jobs);
  const rows: Row[] = [];
  const report = (row: Row): void => {
    rows.push(row);
    const beside = row.bare === null ? '' : `; bare ${told(row.bare)}; ${((row.share ?? NaN) * 100).toFixed(0)} %`;
    console.error(`  ${row.question}: ${told(row.api)}${beside}`);
  };
  for (const { name, path } of QUESTIONS) {
    const at = (url: string): string => `${url}/v1/projects/${PROJECT}/${path({ id })}`;
    const turns = await inTurns([at(world.apiUrl), at(world.bareUrl)], { ...world, seconds });
    const [api, bare] = turns.map(median);
    if (api !== undefined && bare !== undefined) {
      report({ jobs, question: name, api, bare, share: api.perSecond / bare.perSecond });
    }
  }
  const query = `{ job(project: "${PROJECT}", id: "${id}") { id name state gpus summary } }`;
  const headers = { ...world.headers, 'content-type': 'application/json' };
  const [turns = []] = await inTurns([`${world.apiUrl}/graphql`], {
    headers,
    seconds,
    body: JSON.stringify({ query }),
  });
  report({ jobs, question: 'one job by GraphQL', api: median(turns), bare: null, share: null });
  return rows;
}

/** One after the other, again and again, so that what else goes on meets all of them. The first answers of a process are not counted. */
async function inTurns(
  urls: readonly string[],
  {
    headers,
    seconds,
    body,
  }: { readonly headers: Readonly<Record<string, string>>; readonly seconds: number; readonly body?: string },
): Promise<Load[][]> {
  const loads: Load[][] = urls.map(() => []);
  for (let turn = 0; turn <= TURNS; turn += 1) {
    for (const [index, url] of urls.entries()) {
      const load = await loadOf(url, { headers, body, connections: CONNECTIONS, seconds: turn === 0 ? 1 : seconds });
      if (turn > 0) loads[index]?.push(load);
    }
  }
  return loads;
}

function median(loads: readonly Load[]): Load {
  const [load] = [...loads].sort((one, other) => one.perSecond - other.perSecond).slice(Math.floor(loads.length / 2));
  if (load === undefined) throw new Error('nothing was measured');
  return load;
}

/** Makes up the project's jobs to that number, each with a spec of an ordinary size, and gives the id of one of them. */
async function haveJobs({ database, clusterId, projectId }: World, jobs: number): Promise<string> {
  const example = readFileSync(join(import.meta.dirname, '../../../examples/jobs/tiny-gpt.yaml'), 'utf8');
  const spec = JSON.stringify(TrainingJobSpec.parse((parse(example) as { readonly spec: unknown }).spec));
  await database.query(
    `INSERT INTO jobs (id, cluster_id, uid, project_id, namespace, name, spec, state, labels, created_at)
     SELECT gen_random_uuid(), $1, gen_random_uuid()::text, $2, 'bench',
            'llama-' || (CASE WHEN n % $5 = 0 THEN 'rare' ELSE 'usual' END) || '-' || n, $4::jsonb, 'Running',
            jsonb_build_object('team', CASE WHEN n % $5 = 0 THEN 'rare' ELSE 'usual' END), now() - n * interval '1 second'
       FROM generate_series((SELECT count(*) FROM jobs WHERE project_id = $2), $3::int - 1) AS n`,
    [clusterId, projectId, jobs, spec, ONE_OF],
  );
  // As autovacuum does within a minute.
  for (const table of ['jobs', 'job_labels', 'job_name_words']) await database.query(`VACUUM ANALYZE ${table}`);
  const { rows } = await database.query<{ id: string }>(
    'SELECT id FROM jobs WHERE project_id = $1 ORDER BY created_at LIMIT 1',
    [projectId],
  );
  return rows[0]?.id ?? '';
}

function told({ perSecond, p50Ms, p99Ms }: Load): string {
  return `${perSecond.toFixed(0)} a second, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
}

function machine(): object {
  return { cores: availableParallelism(), processor: cpus()[0]?.model.split(/ \d/)[0], node: process.version };
}
