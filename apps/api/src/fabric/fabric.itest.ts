import { readFile, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  API_GROUP_VERSION,
  FABRIC_NAME,
  GPU_RESOURCE,
  NODE_LABELS,
  type Attempt,
  type ClusterFabric,
  type FabricSnapshot,
  type RankMap,
} from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { recordedNode } from '@coxswain/fabric';
import { aFabricNode } from '@coxswain/fabric/testing';
import { type ControlPlane, startControlPlane, waitFor } from '@coxswain/local-cluster';
import type { SharedPostgres } from '@coxswain/test-harness';
import { type ApiUnderTest, startApiUnderTest } from '../testing/api-under-test.ts';
import { migratedPostgres } from '../testing/test-database.ts';
import { anAdministrator } from '../testing/a-principal.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { twoClusters } from '../testing/two-clusters.ts';
import { FabricHistoryService } from './fabric-history.service.ts';
import { removeSomeSnapshots } from './snapshot-retention.ts';
import { type DigestedFabric, digested, SnapshotStore } from './snapshot-store.ts';

const CRDS = resolve(import.meta.dirname, '../../../../charts/coxswain/definitions');
const JOBS = '/v1/projects/research/jobs';
const LAYOUT = { tensorParallelDegree: 2, pipelineParallelDegree: 2, dataParallelDegree: 1 };

let postgres: SharedPostgres;
let cluster: ControlPlane;
let api: ApiUnderTest;
let member: string;

beforeAll(async () => {
  postgres = migratedPostgres();
  cluster = await startControlPlane({ scheduler: false, controllerManager: false });
  for (const file of (await readdir(CRDS)).filter((name) => name.endsWith('.yaml'))) {
    await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: await readFile(join(CRDS, file), 'utf8') });
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
  await cluster?.stop();
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

/** A pod that belongs to no job. */
async function podOfAnother(nodeName: string, gpus: number): Promise<void> {
  const resources = { limits: { [GPU_RESOURCE]: String(gpus) } };
  const spec = {
    nodeName,
    automountServiceAccountToken: false,
    containers: [{ name: 'busy', image: 'example/image', resources }],
  };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'busy', namespace: 'research' }, spec };
  // No controller manager makes the service account without which no pod is admitted.
  await cluster.kubectl(['create', 'serviceaccount', 'default', '-n', 'research']);
  await cluster.kubectl(['create', '-f', '-'], { input: JSON.stringify(pod) });
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
    await podOfAnother('node-b', 3);
    const { id, attempt } = await placedJob('rowing');
    const seen = await waitFor(
      async () => {
        const found = await fabric();
        return found.jobs.length > 0 && found;
      },
      { what: 'the job on the fabric' },
    );
    expect(seen.nodes).toMatchObject({
      names: ['node-a', 'node-b', 'node-c'],
      gpus: [8, 8, 8],
      places: [0, 1, 1],
      heldByOthers: [0, 3, 0],
    });
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
    const answer = await api.send('POST', '/graphql', { token: api.adminToken, body: { query } });
    expect(answer.body.data.fabric).toEqual({ isStale, places, nodes: { names, gpus, usable, places: placeOf } });

    const { headers } = await api.send('GET', '/v1/fabric', { token: api.adminToken });
    const again = { 'if-none-match': String(headers['etag']) };
    expect(await api.send('GET', '/v1/fabric', { token: api.adminToken, headers: again })).toMatchObject({
      status: 304,
    });
  });
});

describe('what the fabric of a cluster looked like', () => {
  const SNAPSHOTS = '/v1/fabric/snapshots';
  const asked = async (url: string): ReturnType<ApiUnderTest['send']> =>
    api.send('GET', url, { token: api.adminToken });
  /** The oldest one: what is said of nodes may have been recorded anew meanwhile. */
  const first = async (): Promise<FabricSnapshot> =>
    waitFor(async () => (await asked(SNAPSHOTS)).body.items.at(-1), { what: 'the first snapshot' });

  it('is recorded by the API itself once it saw the nodes, for administrators alone', async () => {
    const { id, ...snapshot } = await first();
    expect(snapshot).toMatchObject({ nodes: 3, gpus: 24, islands: 1, changes: null, unrecordedLooks: 0 });
    const whole = await asked(`${SNAPSHOTS}/${id}`);
    expect(whole.body).toMatchObject({
      snapshot: { id },
      nodes: { names: ['node-a', 'node-b', 'node-c'], places: [0, 1, 1] },
    });
    const { body } = await asked(`${SNAPSHOTS}/${id}/changes?since=${id}`);
    expect(body).toMatchObject({ before: { id }, came: 0, gone: 0, changed: 0, changes: [] });
    for (const url of [SNAPSHOTS, `${SNAPSHOTS}/${id}`, `${SNAPSHOTS}/${id}/changes`])
      expect(await api.send('GET', url, { token: member })).toMatchObject({ status: 403 });
    expect(await asked(`${SNAPSHOTS}/no-such`)).toMatchObject({ status: 404 });
    expect(await asked(`${SNAPSHOTS}?until=2000-01-01T00:00:00Z`)).toMatchObject({ status: 200, body: { items: [] } });
  });

  it('is told over GraphQL too', async () => {
    const { id, takenAt, nodes } = await first();
    const query = `{ fabricSnapshots(until: "${takenAt}", pageSize: 1) { items { id nodes changes { came } } }
      fabricSnapshot(snapshotId: "${id}") { snapshot { id } nodes { names places } }
      fabricChanges(snapshotId: "${id}") { before { id } came changes { kind nodeCount nodes } } }`;
    const answer = await api.send('POST', '/graphql', { token: api.adminToken, body: { query } });
    expect(answer.body).toEqual({
      data: {
        fabricSnapshots: { items: [{ id, nodes, changes: null }] },
        fabricSnapshot: { snapshot: { id }, nodes: { names: ['node-a', 'node-b', 'node-c'], places: [0, 1, 1] } },
        fabricChanges: {
          before: null,
          came: 3,
          changes: [
            { kind: 'came', nodeCount: 2, nodes: ['node-b', 'node-c'] },
            { kind: 'came', nodeCount: 1, nodes: ['node-a'] },
          ],
        },
      },
    });
  });

  describe('in the database', () => {
    const rack = (leaf: string, gpus = 8): DigestedFabric =>
      digested(['a', 'b', 'c'].map((name) => recordedNode(aFabricNode({ name, gpus, switches: [leaf] }))));
    let clusters: Awaited<ReturnType<typeof twoClusters>>;
    beforeAll(async () => (clusters = await twoClusters(api.running.infrastructure.database)));
    const serviceOf = (cluster: Cluster): FabricHistoryService => {
      const { tenantDatabase, pageTokens } = api.running.infrastructure;
      return new FabricHistoryService(tenantDatabase, cluster, pageTokens);
    };
    /** Of a cluster that nobody looks at by himself. */
    const historyOf = (here: Cluster) => {
      const { database } = api.running.infrastructure;
      const history = serviceOf(here);
      const count = async (table: string): Promise<number> =>
        (await database.query(`SELECT FROM ${table} WHERE cluster_id = $1`, [here.id])).rows.length;
      return {
        store: new SnapshotStore(database, here),
        /** So many hours pass. */
        age: async (hours: number): Promise<void> => {
          await database.query(
            'UPDATE fabric_snapshots SET taken_at = taken_at - make_interval(hours => $2), seen_until = seen_until - make_interval(hours => $2) WHERE cluster_id = $1',
            [here.id, hours],
          );
        },
        chunks: () => count('fabric_chunks'),
        sweep: (days: number, most?: number) => removeSomeSnapshots({ database, cluster: here, days }, most),
        list: async (pageSize = 50) => (await history.list(anAdministrator(), { pageSize })).items,
        history,
      };
    };

    it('is recorded when it changed, not too often, with what changed; what is the same is kept once', async () => {
      const { store, age, chunks, list, history } = historyOf(clusters.here);
      const elsewhere = serviceOf(clusters.elsewhere);
      expect(await store.record(rack('leaf-0'), 0)).toBe(true);
      expect(await store.record(rack('leaf-1', 7), 0)).toBe(false);
      expect(await store.record(rack('leaf-0'), 0)).toBe(true);
      await age(1);
      expect(await store.record(rack('leaf-1', 7), 4)).toBe(true);
      await age(1);
      expect(await store.record(rack('leaf-0'), 0)).toBe(true);
      expect(await chunks()).toBe(2);
      const [again, moved, before] = await list();
      if (again === undefined || moved === undefined || before === undefined) throw new Error('there are three');
      expect(before).toMatchObject({ changes: null, gpus: 24 });
      expect(moved).toMatchObject({ changes: { came: 0, gone: 0, changed: 3 }, gpus: 21, unrecordedLooks: 4 });
      expect(again).toMatchObject({ changes: { came: 0, gone: 0, changed: 3 }, gpus: 24, unrecordedLooks: 0 });
      expect((await history.changes(anAdministrator(), moved.id, {})).changes).toEqual([
        {
          kind: 'changed',
          nodeCount: 3,
          nodes: ['a', 'b', 'c'],
          facts: [
            { fact: 'gpus', before: '8', after: '7' },
            { fact: 'switches', before: 'leaf-0', after: 'leaf-1' },
          ],
        },
      ]);
      const since = { since: before.id };
      expect(await history.changes(anAdministrator(), again.id, since)).toMatchObject({ changed: 0, changes: [] });
      const then = await history.list(anAdministrator(), { pageSize: 1, until: moved.takenAt });
      expect(then).toMatchObject({ items: [moved], nextPageToken: expect.any(String) });
      expect((await elsewhere.list(anAdministrator(), { pageSize: 50 })).items).toEqual([]);
      await expect(elsewhere.read(anAdministrator(), moved.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('is kept for as long as records are, and so many times, with what no other one names; the newest always', async () => {
      const { store, age, chunks, list, sweep } = historyOf(clusters.elsewhere);
      for (const leaf of ['leaf-0', 'leaf-1', 'leaf-0', 'leaf-2']) {
        await store.record(rack(leaf), 0);
        await age(24);
      }
      expect(await sweep(30)).toBe(0);
      expect(await sweep(0, 3)).toBe(1);
      expect(await chunks()).toBe(3);
      // One that another replaced a day ago held until then, however old it is.
      expect(await sweep(2)).toBe(1);
      expect(await chunks()).toBe(2);
      await age(24 * 40);
      const [newest] = await list();
      expect(await sweep(30)).toBe(1);
      expect(await list()).toEqual([newest]);
      expect(await chunks()).toBe(1);
    });
  });
});
