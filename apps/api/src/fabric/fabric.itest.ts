import { readFile, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  API_GROUP_VERSION,
  FABRIC_NAME,
  GPU_RESOURCE,
  NODE_LABELS,
  type Attempt,
  type ClusterFabric,
  type RankMap,
} from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { type ControlPlane, type Postgres, startControlPlane, startPostgres, waitFor } from '@coxswain/local-cluster';
import { type ApiUnderTest, startApiUnderTest } from '../testing/api-under-test.ts';

const CRDS = resolve(import.meta.dirname, '../../../../charts/coxswain/definitions');
const JOBS = '/v1/projects/research/jobs';
const LAYOUT = { tensorParallelDegree: 2, pipelineParallelDegree: 2, dataParallelDegree: 1 };

let postgres: Postgres;
let cluster: ControlPlane;
let api: ApiUnderTest;
let member: string;

beforeAll(async () => {
  [postgres, cluster] = await Promise.all([
    startPostgres(),
    startControlPlane({ scheduler: false, controllerManager: false }),
  ]);
  for (const file of (await readdir(CRDS)).filter((name) => name.endsWith('.yaml'))) {
    await cluster.kubectl(['apply', '-f', '-'], { input: await readFile(join(CRDS, file), 'utf8') });
  }
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
  await cluster.kubectl(['create', 'namespace', 'research']);
  for (const [name, leaf] of [
    ['node-a', 'leaf-0'],
    ['node-b', 'leaf-1'],
    ['node-c', 'leaf-1'],
  ] as const) {
    await createNode(name, leaf);
  }
  api = await startApiUnderTest({
    databaseUrl: await postgres.createDatabase('fabric'),
    environment: { COXSWAIN_ROLE: 'all', COXSWAIN_KUBECONFIG: cluster.adminKubeconfigPath },
  });
  member = await api.project('research');
});

afterAll(async () => {
  await api?.close();
  await Promise.all([cluster?.stop(), postgres?.stop()]);
});

async function createNode(name: string, leaf: string): Promise<void> {
  const labels = {
    [NODE_LABELS.nicIsland]: 'ib-1',
    [`${NODE_LABELS.switchTierPrefix}0`]: leaf,
    [`${NODE_LABELS.switchTierPrefix}1`]: 'spine-0',
  };
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
  await cluster.kubectl(['create', '-f', '-'], { input: JSON.stringify(node) });
  await setStatus('node', name, {
    allocatable: { [GPU_RESOURCE]: '8' },
    conditions: [{ type: 'Ready', status: 'True' }],
  });
}

async function setStatus(kind: string, name: string, status: object): Promise<void> {
  const patch = JSON.stringify({ status });
  const where = kind === 'node' ? [] : ['-n', 'research'];
  await cluster.kubectl(['patch', kind, name, ...where, '--subresource=status', '--type=merge', '-p', patch]);
}

/** A job whose first attempt is placed on node-a and node-c. */
async function placedJob(name: string): Promise<{ readonly id: string; readonly attempt: Attempt }> {
  const made = await api.send('POST', JOBS, { token: member, body: { name, spec: aJobSpec() } });
  const { id, uid } = (await waitFor(
    async () => {
      const { body } = await api.send('GET', `${JOBS}/${made.body.id}`, { token: member });
      return body.uid !== null && body;
    },
    { what: `the UID of ${name}` },
  )) as { id: string; uid: string };
  const placement = {
    apiVersion: API_GROUP_VERSION,
    kind: 'Placement',
    metadata: { name: `${name}-e1`, namespace: 'research' },
    spec: {
      jobName: name,
      jobUid: uid,
      epoch: 1,
      layout: LAYOUT,
      worldSize: 4,
      ranksPerPod: 2,
      nodes: ['node-a', 'node-c'],
    },
  };
  await cluster.kubectl(['create', '-f', '-'], { input: JSON.stringify(placement) });
  const at = '2026-01-01T00:00:00Z';
  const attempt: Attempt = {
    epoch: 1,
    stage: 'Released',
    placement: `${name}-e1`,
    layout: LAYOUT,
    startedAt: at,
    releasedAt: at,
  };
  await setStatus('trainingjob', name, statusOf(attempt));
  return { id, attempt };
}

function statusOf(attempt: Attempt): object {
  const restarts = { total: 0, charged: 0 };
  return { state: 'Running', summary: 'It runs.', epoch: 1, restarts, attempts: [attempt] };
}

async function fabric(): Promise<ClusterFabric> {
  const { status, body } = await api.send('GET', '/v1/fabric', { token: api.adminToken });
  expect(status).toBe(200);
  return body as ClusterFabric;
}

describe('the fabric of a cluster', () => {
  it('tells an administrator each node, where it sits and which job holds it, until the attempt has ended', async () => {
    const { id, attempt } = await placedJob('rowing');
    const seen = await waitFor(
      async () => {
        const found = await fabric();
        return found.jobs.length > 0 && found;
      },
      { what: 'the job on the fabric' },
    );
    expect(seen.nodes).toMatchObject({ names: ['node-a', 'node-b', 'node-c'], gpus: [8, 8, 8], places: [0, 1, 1] });
    expect(seen.places).toMatchObject([
      {
        island: 'ib-1',
        nvlinkDomain: null,
        switches: [expect.stringContaining('leaf-0'), expect.stringContaining('spine-0')],
      },
      { switches: [expect.stringContaining('leaf-1'), expect.stringContaining('spine-0')] },
    ]);
    expect(seen.hardware[0]?.readFrom).toContainEqual({ fact: 'island', key: NODE_LABELS.nicIsland });
    expect(seen.jobs).toEqual([{ id, project: 'research', name: 'rowing', nodes: [0, 2], gpus: [2, 2] }]);

    const ended = { ...attempt, stage: 'Ended', outcome: 'Failed', endedAt: '2026-01-01T00:01:00Z' };
    await setStatus('trainingjob', 'rowing', statusOf(ended as Attempt));
    await waitFor(async () => (await fabric()).jobs.length === 0, { what: 'the GPUs to be free' });
  });

  it('tells a member where the ranks of a job are, and nothing of other nodes', async () => {
    const { id } = await placedJob('sculling');
    const { items, nodes } = await waitFor(
      async () => {
        const { body } = await api.send('GET', `${JOBS}/${id}/ranks`, { token: member });
        return body.items.length === 4 && (body as RankMap);
      },
      { what: 'the ranks' },
    );
    expect(items.map(({ node, island }) => [node, island])).toEqual([
      ['node-a', 'ib-1'],
      ['node-a', 'ib-1'],
      ['node-c', 'ib-1'],
      ['node-c', 'ib-1'],
    ]);
    expect(nodes.map(({ name, switches }) => [name, switches.length])).toEqual([
      ['node-a', 2],
      ['node-c', 2],
    ]);
    expect(JSON.stringify({ items, nodes })).not.toContain('node-b');
    expect(await api.send('GET', '/v1/fabric', { token: member })).toMatchObject({ status: 403 });
  });

  it('is as an administrator says in the Fabric resource', async () => {
    await cluster.kubectl(['label', 'node', 'node-b', 'example.com/rack=r7']);
    const overrides = [{ nodeSelector: { 'example.com/rack': 'r7' }, island: 'roce-7' }];
    const resource = {
      apiVersion: API_GROUP_VERSION,
      kind: 'Fabric',
      metadata: { name: FABRIC_NAME },
      spec: { overrides },
    };
    await cluster.kubectl(['create', '-f', '-'], { input: JSON.stringify(resource) });
    await waitFor(
      async () => {
        const { nodes, places } = await fabric();
        return nodes.places.findIndex((place) => places[place]?.island === 'roce-7') === 1;
      },
      { what: 'the island that the Fabric says of node-b' },
    );
  });

  it('is the same over GraphQL, and is not sent again to who has it', async () => {
    const query = '{ fabric { isStale places { island nvlinkDomain switches } nodes { names gpus usable places } } }';
    const { places, nodes, isStale } = await fabric();
    const { names, gpus, usable, places: placeOf } = nodes;
    const told = await api.send('POST', '/graphql', { token: api.adminToken, body: { query } });
    expect(told.body.data.fabric).toEqual({ isStale, places, nodes: { names, gpus, usable, places: placeOf } });

    const { headers } = await api.send('GET', '/v1/fabric', { token: api.adminToken });
    const again = { 'if-none-match': String(headers['etag']) };
    expect(await api.send('GET', '/v1/fabric', { token: api.adminToken, headers: again })).toMatchObject({
      status: 304,
    });
  });
});
