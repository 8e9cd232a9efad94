import {
  API_GROUP_VERSION,
  FABRIC_NAME,
  type FabricResource,
  type FabricSpec,
  PUBLISHED_LABELS,
  type TrainingJob,
} from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { sharedWorld } from './testing/shared-world.ts';
import type { World } from './testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
});
afterEach(async () => {
  await world.clear();
  await world.plane.kubectl(['delete', 'nodes,fabrics', '--all']);
});
afterAll(() => world.stop());

const FABRICS = `/apis/${API_GROUP_VERSION}/fabrics`;
const CLIQUE = 'nvidia.com/gpu.clique';
const isRunning = ({ status }: TrainingJob): boolean => status?.state === 'Running';

async function applyFabric(
  spec: FabricSpec,
  name = FABRIC_NAME,
): Promise<{ readonly status: number; readonly body: string }> {
  return world.plane.admin.send({
    method: 'PATCH',
    path: `${FABRICS}/${name}?fieldManager=test&force=true`,
    body: { apiVersion: API_GROUP_VERSION, kind: 'Fabric', metadata: { name }, spec },
    contentType: 'application/apply-patch+yaml',
  });
}

function fabricThat(
  what: string,
  isSo: (status: NonNullable<FabricResource['status']>) => boolean,
): Promise<FabricResource> {
  return waitFor(
    async () => {
      const { items } = await world.plane.admin.json<{ items: FabricResource[] }>({ method: 'GET', path: FABRICS });
      return items.find(({ status }) => status !== undefined && isSo(status));
    },
    { what },
  );
}

describe('the Fabric resource on a real API server', () => {
  it('is made, tells what nodes say, and places gangs by what is said of them', async () => {
    await world.node('node-a', 2, { [CLIQUE]: 'u.1' });
    await world.node('node-b', 2, { [CLIQUE]: 'u.2' });
    await world.operator();
    const made = await fabricThat('a Fabric of two nodes', ({ nodes }) => nodes === 2);
    expect(made.status).toMatchObject({
      gpus: 4,
      nvlinkDomains: 0,
      conditions: [{ type: 'Consistent', status: 'True' }],
    });

    const namespace = await world.namespace();
    const wide = { layout: { tensorParallelDegree: 4 }, resources: { gpusPerNode: 2 } };
    const job = await world.job(namespace, 'wide', wide);
    await world.until(job, 'waiting for a domain of 4 GPUs', ({ status }) =>
      (status?.conditions ?? []).some(({ reason }) => reason === 'TopologyUnsatisfiable'),
    );
    expect((await applyFabric({ overrides: [{ nodes: ['node-a', 'node-b'], nvlinkDomain: 'rack-1' }] })).status).toBe(
      200,
    );
    await world.until(job, 'running', isRunning);
    expect((await fabricThat('one domain', ({ nvlinkDomains }) => nvlinkDomains === 1)).status?.sources).toContainEqual(
      {
        fact: 'nvlinkDomain',
        key: 'Fabric cluster: fabric.coxswain.dev/nvlink-domain',
        nodes: 2,
      },
    );
  });

  it('labels nodes with what was concluded where that is asked for, and reads nothing of it', async () => {
    await world.node('node-a', 2, { [CLIQUE]: 'u.1', [PUBLISHED_LABELS.island]: 'a-lie' });
    const labels = async (): Promise<Readonly<Record<string, string>>> =>
      JSON.parse(await world.plane.kubectl(['get', 'node', 'node-a', '-o', 'jsonpath={.metadata.labels}']));
    await world.operator({ environment: { COXSWAIN_PUBLISH_FABRIC_LABELS: 'true' } });
    await waitFor(async () => (await labels())[PUBLISHED_LABELS.island] === 'unlabelled', {
      what: 'the island that was concluded',
    });
    expect(await labels()).toMatchObject({
      [CLIQUE]: 'u.1',
      [PUBLISHED_LABELS.nvlinkDomain]: expect.stringMatching(/^u\.1\.[0-9a-f]{10}$/),
    });
  });

  it('tells a job whose nodes are said to be elsewhere while it runs', async () => {
    await world.node('node-a', 2, { [CLIQUE]: 'u.1' });
    await world.operator();
    const namespace = await world.namespace();
    const job = await world.job(namespace, 'small', {
      layout: { tensorParallelDegree: 2 },
      resources: { gpusPerNode: 2 },
    });
    await world.until(job, 'running', isRunning);
    // Status that tells of this has been written after a look at the gang.
    await applyFabric({ overrides: [{ nodes: ['node-a'], gpuType: 'h100' }] });
    await fabricThat('the GPU type', ({ sources }) => sources.some(({ fact }) => fact === 'gpuType'));
    await world.plane.kubectl(['label', 'node', 'node-a', `${CLIQUE}=u.2`, '--overwrite']);
    const changed = await fabricThat('the change', ({ problems }) => problems.length > 0);
    expect(changed.status?.problems).toMatchObject([{ kind: 'ChangedUnderJob', nodes: ['node-a'] }]);
    const note = await waitFor(
      async () =>
        (await world.plane.kubectl([
          '-n',
          namespace,
          'get',
          'events',
          '-o',
          'jsonpath={.items[?(@.reason=="FabricChanged")].message}',
        ])) || undefined,
      { what: 'an event of the job' },
    );
    expect(note).toContain(`Job ${namespace}/small runs on node-a`);
  });

  it.each<[string, FabricSpec, string, RegExp]>([
    ['another name', {}, 'second', /a cluster has one Fabric, named cluster/],
    [
      'an override of no nodes',
      { overrides: [{ nvlinkDomain: 'rack' }] },
      FABRIC_NAME,
      /must have nodes or a non-empty nodeSelector/,
    ],
    [
      'a window that ends before it begins',
      { windows: [{ name: 'w', nodes: ['n'], from: '2026-12-02T00:00:00Z', until: '2026-12-01T23:59:59+00:00' }] },
      FABRIC_NAME,
      /until must be after from/,
    ],
    [
      'a window at no time',
      { windows: [{ name: 'w', nodes: ['n'], from: 'tomorrow', until: '2026-12-02T00:00:00Z' }] },
      FABRIC_NAME,
      /windows\[0\]\.from/,
    ],
    ['a name that no label can have', { overrides: [{ nodes: ['n'], island: 'a b' }] }, FABRIC_NAME, /island/],
  ])('%s is refused', async (_sentence, spec, name, why) => {
    const { status, body } = await applyFabric(spec, name);
    expect([status, typeof body === 'string' ? body : JSON.stringify(body)]).toEqual([422, expect.stringMatching(why)]);
  });
});
