/** A database, an API as it is built, and two tenants: one whose tokens the fuzzers use, and one whose every text holds a canary. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aJobSpec, anAttempt } from '@coxswain/api-types/testing';
import { freePort, type ProcessHandle, startPostgres, startProcess } from '@coxswain/local-cluster';
import { Database, makeRoles } from '@coxswain/persistence';
import { startFakeCluster } from './fake-cluster.ts';
import { startFakeOperator } from './fake-operator.ts';
import { CLIENT, GROUP, startIssuer } from './issuer.ts';
import { Ids, type Tenants, type Who } from './tenants.ts';

const API = join(import.meta.dirname, '../../apps/api/dist/main.js');
const READY_MS = 60_000;
/** As the chart runs it. */
const HEAP = '--max-old-space-size=512';
const ROLES = ['viewer', 'submitter', 'operator', 'admin'] as const;
/** Under which steps lie. */
const MONTH = '2026-01-01';
const OWN = 'fuzzed';
const FOREIGN = 'keeper';

/** What runs, and who is in it. */
export interface FuzzWorld {
  readonly url: string;
  /** For logs; removed in the end. */
  readonly directory: string;
  readonly api: ProcessHandle;
  readonly canary: string;
  readonly tenants: Tenants;
  stop(options: { readonly keepLogs: boolean }): Promise<void>;
}

/** Starts it with no limit on how often a project may ask. */
export async function startFuzzWorld(): Promise<FuzzWorld> {
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-fuzz-'));
  const canary = `canary${randomUUID().replaceAll('-', '')}`;
  const kubeconfig = join(directory, 'kubeconfig');
  const stopCluster = await startFakeCluster(kubeconfig, {
    logOf: (namespace) => (namespace === FOREIGN ? `a line of ${canary}\n` : 'a line\n'),
    nodes: [canary, 'b'],
  });
  // UIDs of jobs that the fuzzers may see; stacks of any other job contain the canary.
  const ownUids = new Set<string>();
  const operator = await startFakeOperator(directory, (uid) => (ownUids.has(uid) ? 'step (train.py:1)' : canary));
  const issuer = await startIssuer();
  const postgres = await startPostgres();
  const databaseUrl = await postgres.createDatabase('fuzz');
  const password = randomUUID().replaceAll('-', '');
  const prefix = new URL(databaseUrl).pathname.slice(1);
  const { urls: roles } = await makeRoles({ adminUrl: databaseUrl, prefix, passwordOf: () => password });
  const url = `http://127.0.0.1:${await freePort()}`;
  const tokenFile = join(directory, 'administrator');
  const api = await startProcess({
    name: 'API',
    command: process.execPath,
    args: [HEAP, API],
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: roles.runtime,
      COXSWAIN_SYSTEM_DATABASE_URL: roles.system,
      COXSWAIN_QUEUE_DATABASE_URL: roles.queue,
      COXSWAIN_MIGRATOR_DATABASE_URL: roles.migrator,
      COXSWAIN_LISTEN_PORT: new URL(url).port,
      COXSWAIN_ROLE: 'api',
      COXSWAIN_KUBECONFIG: kubeconfig,
      COXSWAIN_BOOTSTRAP_TOKEN_FILE: tokenFile,
      COXSWAIN_OPERATOR_SERIES_URLS: operator.url,
      COXSWAIN_OPERATOR_CA_FILE: operator.caFile,
      COXSWAIN_OPERATOR_TOKEN_FILE: operator.tokenFile,
      COXSWAIN_LOG_LEVEL: 'error',
      COXSWAIN_PUBLIC_URL: url,
      COXSWAIN_OIDC_ISSUER_URL: issuer.url,
      COXSWAIN_OIDC_CLIENT_ID: CLIENT,
      // What is looked for is what comes behind the limits.
      COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '0',
      COXSWAIN_PROJECT_WRITES_PER_MINUTE: '0',
      COXSWAIN_PROJECT_CONCURRENT_REQUESTS: '0',
      COXSWAIN_PROJECT_CHANGES_PER_SECOND: '0',
      COXSWAIN_PROJECT_CPU_MS_PER_SECOND: '0',
      COXSWAIN_PRINCIPAL_CPU_MS_PER_SECOND: '0',
      COXSWAIN_STRANGERS_CPU_MS_PER_SECOND: '0',
      COXSWAIN_PROJECT_MAX_JOBS: '0',
      COXSWAIN_PROJECT_MAX_LAYOUTS: '0',
      COXSWAIN_PROJECT_MAX_TOKENS: '0',
    },
    logPath: join(directory, 'api.log'),
    ready: { check: () => isThere(`${url}/healthz`), deadlineMs: READY_MS },
  });
  const administrator: Who = { role: 'clusterAdmin', token: readFileSync(tokenFile, 'utf8').trim() };
  const tenants = await inhabit({ url, databaseUrl, canary, administrator, ownUids, idToken: () => issuer.idToken() });
  return {
    url,
    directory,
    api,
    canary,
    tenants,
    stop: async ({ keepLogs }) => {
      await api.stop();
      await postgres.stop();
      await stopCluster();
      await operator.close();
      await issuer.close();
      if (!keepLogs) rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function inhabit(place: {
  readonly url: string;
  readonly databaseUrl: string;
  readonly canary: string;
  readonly administrator: Who;
  readonly ownUids: Set<string>;
  readonly idToken: () => string;
}): Promise<Tenants> {
  const { url, canary, administrator } = place;
  const post = (path: string, body: object): Promise<{ readonly id: string; readonly token: string }> =>
    made(`${url}${path}`, administrator, body);
  const own = new Ids(OWN);
  const foreign = new Ids(FOREIGN);
  for (const name of [OWN, FOREIGN]) await post('/v1/projects', { name, namespaces: [name] });
  const memberOf = async (role: string): Promise<Who> => {
    const { id, token } = await post(`/v1/projects/${OWN}/tokens`, { name: role, role });
    own.keep(id);
    return { role, token };
  };
  const members = await Promise.all(ROLES.map(memberOf));
  // By this role whoever signs in is somebody here.
  own.keep((await post(`/v1/projects/${OWN}/group-roles`, { group: GROUP, role: 'viewer' })).id);
  const database = await Database.connect({ url: place.databaseUrl, applicationName: 'fuzzer' });
  try {
    for (const [ids, word] of [
      [own, 'plain'],
      [foreign, canary],
    ] as const) {
      const { project } = ids;
      const base = aJobSpec();
      const spec = { ...base, engine: { ...base.engine, env: [{ name: 'WORD', value: word }] } };
      const job = await post(`/v1/projects/${project}/jobs`, { name: 'kept', spec });
      const layout = await post(`/v1/projects/${project}/layouts`, { name: word, layout: { tensorParallelDegree: 2 } });
      const token = await post(`/v1/projects/${project}/tokens`, { name: word, role: 'viewer' });
      const webhook = await post(`/v1/projects/${project}/webhooks`, { url: `https://hooks.example.com/${word}` });
      const plan = await post(`/v1/projects/${project}/plans`, {
        ...PLAN,
        modelShape: { ...PLAN.modelShape, name: word },
      });
      ids.learn('/v1/projects/{project}/jobs', [job.id]);
      ids.learn('/v1/projects/{project}/layouts', [layout.id]);
      ids.learn('/v1/projects/{project}/tokens', [token.id]);
      ids.learn('/v1/projects/{project}/webhooks', [webhook.id]);
      ids.learn('/v1/projects/{project}/plans', [plan.id]);
      const uid = await liveThrough(database, { id: job.id, project, word });
      if (ids === own) place.ownUids.add(uid);
    }
  } finally {
    await database.close();
  }
  const guest = await memberOf('admin');
  const nobody: Who = { role: 'nobody', token: undefined };
  return {
    own,
    foreign,
    members,
    guest,
    administrator,
    nobody,
    stranger: { role: 'stranger', token: 'cxs_00000000_no' },
    sessions: [],
    idToken: place.idToken,
  };
}

/** Rows as the projector and the series store would have left them, with the word in each of their texts. Resolves with the UID of the job. */
async function liveThrough(
  database: Database,
  job: { readonly id: string; readonly project: string; readonly word: string },
): Promise<string> {
  const { id, project, word } = job;
  const uid = randomUUID();
  const layout = { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 };
  const at = '2026-01-01T00:00:00Z';
  const condition = {
    type: 'Running',
    status: 'True',
    reason: 'GangRunning',
    message: word,
    observedGeneration: 1,
    lastTransitionTime: at,
  };
  const placement = {
    jobName: 'kept',
    jobUid: uid,
    epoch: 1,
    layout,
    worldSize: 4,
    ranksPerPod: 2,
    nodes: [word, 'b'],
  };
  const checkpoint = {
    ...{ jobName: 'kept', jobUid: uid, epoch: 1, step: 7, claimName: 'checkpoints', path: word, layout },
    ...{ format: 'torch_dcp', bytes: 5_000, files: 9, manifestSha256: 'a'.repeat(64) },
  };
  const ofCluster = '(SELECT cluster_id FROM jobs WHERE id = $1)';
  const rows: readonly (readonly [string, readonly unknown[]])[] = [
    [
      `UPDATE jobs SET uid = $2, state = 'Running', summary = $3, status = $4 WHERE id = $1`,
      [id, uid, word, JSON.stringify({ epoch: 1, restarts: { total: 0, charged: 0 }, conditions: [condition] })],
    ],
    [
      `INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) VALUES (${ofCluster}, $2, 1, $3)`,
      [id, uid, JSON.stringify(anAttempt({ epoch: 1, placement: 'kept-e1' }))],
    ],
    [
      `INSERT INTO job_events (job_id, key, type, severity, epoch, message, at)
       SELECT $1, 'k' || n, 'Placed', 'info', 1, $2, now() FROM generate_series(1, 30) AS n`,
      [id, word],
    ],
    [`INSERT INTO job_series (cluster_id, job_uid, month) VALUES (${ofCluster}, $2, $3)`, [id, uid, MONTH]],
    ['SELECT ensure_series_month($1)', [MONTH]],
    [
      `INSERT INTO step_epochs (cluster_id, job_uid, epoch, first_step, last_step) VALUES (${ofCluster}, $2, 1, 1, 500)`,
      [id, uid],
    ],
    [
      `INSERT INTO steps (cluster_id, month, job_uid, epoch, step, loss, tokens, step_time_ms, at)
       SELECT ${ofCluster}, $3, $2, 1, step, 3.5, 5000, 100, now() FROM generate_series(1, 500) AS step`,
      [id, uid, MONTH],
    ],
    [
      `INSERT INTO placements (cluster_id, uid, namespace, name, job_uid, epoch, spec, resource_version)
       VALUES (${ofCluster}, $2 || '-placement', $3, 'kept-e1', $2, 1, $4, 1)`,
      [id, uid, project, JSON.stringify(placement)],
    ],
    [
      `INSERT INTO checkpoints (cluster_id, uid, namespace, name, job_uid, spec, state, message, resource_version, created_at)
       VALUES (${ofCluster}, $2 || '-saved', $3, 'kept-7', $2, $4, 'Complete', $5, 1, now())`,
      [id, uid, project, JSON.stringify(checkpoint), word],
    ],
  ];
  for (const [sql, parameters] of rows) await database.query(sql, parameters);
  return uid;
}

const PLAN = {
  modelShape: {
    ...{ name: 'small', layers: 8, hiddenSize: 1_024, ffnHiddenSize: 4_096, attentionHeads: 16, keyValueHeads: 16 },
    ...{ headDim: 64, vocabularySize: 32_000, gatedMlp: true },
  },
  ...{ cluster: { gpu: 'h100', gpus: 8 }, globalBatchSize: 64, sequenceLength: 2_048, top: 3 },
  pinned: { chunks: 1, context: 1, zeroStage: 1, recompute: 'none', partition: 'even', rankOrder: 'tp-cp-dp-pp' },
  allow: { schedules: ['1f1b'], offload: false },
};

async function made(
  url: string,
  { token }: Who,
  body: object,
): Promise<{ readonly id: string; readonly token: string }> {
  const headers = { authorization: `Bearer ${token ?? ''}`, 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`POST ${url} was answered ${answer.status}: ${text}`);
  return JSON.parse(text) as { readonly id: string; readonly token: string };
}

async function isThere(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
