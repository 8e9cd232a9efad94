/** Does an API whose service account may use two namespaces serve these, and leave a third alone? On the real API server. */
import { readFile, readdir } from 'node:fs/promises';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { API_GROUP_VERSION, CONTAINERS, LABELS } from '@coxswain/api-types';
import { aJobSpec, anAttempt } from '@coxswain/api-types/testing';
import { type ControlPlane, startControlPlane, waitFor } from '@coxswain/local-cluster';
import { CLUSTER_SCOPED_RULES, JOB_NAMESPACE_RULES } from './permissions.ts';
import { type ApiUnderTest, startApiUnderTest, type TestAnswer } from './testing/api-under-test.ts';
import { migratedPostgres } from './testing/test-database.ts';

const CRDS = resolve(import.meta.dirname, '../../../charts/coxswain/definitions');
const RBAC = 'rbac.authorization.k8s.io';
const ACCOUNT = 'coxswain-api';
/** The API may use the first two. The fourth is in its list, but nobody made the Role. */
const [RESEARCH, VISION, OUTSIDE, WITHOUT_ROLE] = ['research', 'vision', 'outside', 'without-role'] as const;
const NAMESPACES = [RESEARCH, VISION, OUTSIDE, WITHOUT_ROLE];

let cluster: ControlPlane;
let api: ApiUnderTest;
let token: string;
let directory: string;

beforeAll(async () => {
  const postgres = migratedPostgres();
  cluster = await startControlPlane({ scheduler: false, controllerManager: false });
  for (const name of (await readdir(CRDS)).filter((file) => file.endsWith('.yaml')))
    await apply(await readFile(join(CRDS, name), 'utf8'));
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
  for (const namespace of NAMESPACES) await cluster.kubectl(['create', 'namespace', namespace]);
  await cluster.kubectl(['create', 'serviceaccount', ACCOUNT]);
  await grant('ClusterRole', CLUSTER_SCOPED_RULES);
  for (const namespace of [RESEARCH, VISION]) await grant('Role', JOB_NAMESPACE_RULES, namespace);
  for (const namespace of NAMESPACES) await cluster.kubectl(['create', '-f', '-'], { input: aJob(namespace) });
  directory = mkdtempSync(join(tmpdir(), 'coxswain-confined-'));
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('confined'),
    environment: {
      COXSWAIN_ROLE: 'all',
      COXSWAIN_KUBECONFIG: await kubeconfigOfAccount(),
      COXSWAIN_API_NAMESPACES: [RESEARCH, VISION, WITHOUT_ROLE].join(','),
    },
  });
  token = await api.project(RESEARCH);
});

afterAll(async () => {
  await api?.close();
  await cluster?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const apply = (input: string): Promise<string> => cluster.kubectl(['apply', '--server-side', '-f', '-'], { input });

const aJob = (namespace: string, name = `made-in-${namespace}`): string =>
  JSON.stringify({
    apiVersion: API_GROUP_VERSION,
    kind: 'TrainingJob',
    metadata: { name, namespace },
    spec: aJobSpec(),
  });

/** As the chart does it. */
async function grant(kind: 'ClusterRole' | 'Role', rules: readonly object[], namespace?: string): Promise<void> {
  const apiVersion = `${RBAC}/v1`;
  const metadata = { name: ACCOUNT, ...(namespace === undefined ? {} : { namespace }) };
  const subjects = [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: 'default' }];
  await apply(JSON.stringify({ apiVersion, kind, metadata, rules }));
  const roleRef = { apiGroup: RBAC, kind, name: ACCOUNT };
  await apply(JSON.stringify({ apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects }));
}

/** A kubeconfig with a token of the service account and no other right. */
async function kubeconfigOfAccount(): Promise<string> {
  const bearer = (await cluster.kubectl(['create', 'token', ACCOUNT])).trim();
  const path = join(directory, 'kubeconfig');
  const admin = await cluster.kubectl(['config', 'view', '--raw', '--minify', '--flatten', '-o', 'json']);
  const config = JSON.parse(admin) as { readonly users: readonly { readonly name: string }[] };
  const users = config.users.map(({ name }) => ({ name, user: { token: bearer } }));
  writeFileSync(path, JSON.stringify({ ...config, users }));
  return path;
}

const rows = async (): Promise<readonly string[]> => {
  const { database } = api.running.infrastructure;
  const found = await database.query<{ namespace: string; name: string }>(
    'SELECT namespace, name FROM jobs WHERE deleted_at IS NULL ORDER BY namespace, name',
  );
  return found.rows.map(({ namespace, name }) => `${namespace}/${name}`);
};

interface PlacedJob {
  readonly id: string;
  readonly uid: string;
  readonly namespace: string;
}

async function rowOf(name: string): Promise<PlacedJob> {
  const { database } = api.running.infrastructure;
  const found = await database.query<PlacedJob>('SELECT id, uid, namespace FROM jobs WHERE name = $1', [name]);
  const job = found.rows[0];
  if (job === undefined) throw new Error(`there is no row of ${name}`);
  return job;
}

/**
 * Records an attempt of the job with one pod, as if the operator had placed it. A change of the job that is still to be projected removes it: the
 * job's status has none.
 */
async function recordPlaced(name: string, job: PlacedJob): Promise<void> {
  const { database } = api.running.infrastructure;
  const layout = { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 };
  const sizes = { epoch: 1, layout, worldSize: 4, ranksPerPod: 4, nodes: ['a'] };
  await database.query(
    'INSERT INTO attempts (cluster_id, job_uid, epoch, attempt) SELECT cluster_id, uid, 1, $2 FROM jobs WHERE id = $1',
    [job.id, JSON.stringify(anAttempt({ epoch: 1, placement: `${name}-e1` }))],
  );
  await database.query(
    `INSERT INTO placements (cluster_id, uid, namespace, name, job_uid, epoch, spec, resource_version)
     SELECT cluster_id, uid || '-p', namespace, name || '-e1', uid, 1, $2, 1 FROM jobs WHERE id = $1`,
    [job.id, JSON.stringify({ jobName: name, jobUid: job.uid, ...sizes })],
  );
}

async function startPod({ uid, namespace }: Pick<PlacedJob, 'uid' | 'namespace'>): Promise<void> {
  const labels = { [LABELS.jobUid]: uid, [LABELS.epoch]: '1', [LABELS.podIndex]: '0' };
  const spec = { containers: [{ name: CONTAINERS.trainer, image: 'none' }] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pod-0', namespace, labels }, spec };
  await cluster.kubectl(['create', 'serviceaccount', 'default', '-n', namespace]);
  await cluster.kubectl(['create', '-f', '-'], { input: JSON.stringify(pod) });
}

describe('an API that is confined to namespaces', () => {
  it('is ready, though one namespace of its list has no Role', async () => {
    const missing = (): Promise<readonly string[]> => api.running.infrastructure.readiness.missing();
    await waitFor(async () => (await missing()).length === 0, { what: 'the API to be ready' });
  });

  it('projects jobs of its namespaces, and none of another', async () => {
    const own = [`${RESEARCH}/made-in-${RESEARCH}`, `${VISION}/made-in-${VISION}`];
    await waitFor(async () => (await rows()).length >= own.length, { what: 'the jobs of its namespaces' });
    await cluster.kubectl(['create', '-f', '-'], { input: aJob(OUTSIDE, 'later') });
    await cluster.kubectl(['create', '-f', '-'], { input: aJob(VISION, 'later') });
    await waitFor(async () => (await rows()).includes(`${VISION}/later`), { what: 'a job that came later' });
    expect(await rows()).toEqual([own[0], `${VISION}/later`, own[1]]);
  });

  it('notices that a job is gone in one namespace, and leaves jobs of the same name elsewhere', async () => {
    for (const namespace of [RESEARCH, VISION])
      await cluster.kubectl(['create', '-f', '-'], { input: aJob(namespace, 'twin') });
    await waitFor(async () => (await rows()).filter((row) => row.endsWith('/twin')).length === 2, { what: 'twins' });
    await cluster.kubectl(['delete', 'trainingjob', 'twin', '-n', VISION, '--wait=false']);
    await waitFor(async () => !(await rows()).includes(`${VISION}/twin`), { what: 'one of them to be gone' });
    expect(await rows()).toContain(`${RESEARCH}/twin`);
  });

  it('carries a job that is submitted to the cluster', async () => {
    const jobs = `/v1/projects/${RESEARCH}/jobs`;
    const made = await api.send('POST', jobs, { token, body: { name: 'submitted', spec: aJobSpec() } });
    expect(made.status).toBe(201);
    const uid = async (): Promise<unknown> => (await api.send('GET', `${jobs}/${made.body.id}`, { token })).body.uid;
    await waitFor(async () => (await uid()) !== null, { what: 'the UID of the job' });
    expect(await cluster.kubectl(['get', 'trainingjob', '-n', RESEARCH, '-o', 'name'])).toContain('submitted');
  });

  it('reads the log of a pod in its namespaces, and says what to do about a pod elsewhere', async () => {
    const [inside, outside] = [`made-in-${RESEARCH}`, 'known-from-before'];
    const body = { name: 'no-role', namespaces: [WITHOUT_ROLE] };
    expect((await api.send('POST', '/v1/projects', { token: api.adminToken, body })).status).toBe(201);
    await api.running.infrastructure.database.query(
      `INSERT INTO jobs (id, cluster_id, project_id, namespace, name, uid, spec, state, resource_version)
       SELECT gen_random_uuid(), p.cluster_id, p.id, $1, $2, 'a-uid', j.spec, 'Running', 1
         FROM projects p, jobs j WHERE p.name = 'no-role' AND j.name = $3`,
      [WITHOUT_ROLE, outside, inside],
    );
    const logOf = async (name: string, project: string): Promise<TestAnswer> => {
      const job = await rowOf(name);
      await startPod(job);
      await recordPlaced(name, job);
      return api.send('GET', `/v1/projects/${project}/jobs/${job.id}/logs`, { token: api.adminToken });
    };
    // The pod has no node yet, so its log is empty.
    expect(await logOf(inside, RESEARCH)).toMatchObject({ status: 200, headers: { 'coxswain-log-source': 'pod' } });
    expect(await logOf(outside, 'no-role')).toMatchObject({
      status: 409,
      body: {
        detail: expect.stringMatching(/may not read pods in namespace "without-role".*api\.namespaces/) as string,
      },
    });
  });

  it('gives no project a namespace that it cannot use, and names those that it can', async () => {
    const refused = await api.send('POST', '/v1/projects', {
      token: api.adminToken,
      body: { name: 'wide', namespaces: [OUTSIDE] },
    });
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/may only use research/) as string },
    });
  });

  it('takes in a namespace as soon as its Role is made', async () => {
    await grant('Role', JOB_NAMESPACE_RULES, WITHOUT_ROLE);
    const job = `${WITHOUT_ROLE}/made-in-${WITHOUT_ROLE}`;
    await waitFor(async () => (await rows()).includes(job), { what: 'the job of the namespace', deadlineMs: 60_000 });
  });
});
