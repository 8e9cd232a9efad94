import { ANNOTATIONS, FABRIC_NAME, type FabricResource, type FabricSpec, NODE_LABELS } from '@coxswain/api-types';
import { anAttempt } from '@coxswain/api-types/testing';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { FakeKubeApi } from '@coxswain/kube/testing';
import { placementSha256 } from '@coxswain/scheduling';
import { aPlacement } from '@coxswain/lifecycle/testing';
import { fabricsPath } from '../cluster/paths.ts';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { createClusterScheduler } from '../training-job/cluster-scheduler.ts';
import { FabricController } from './fabric-controller.ts';

const CLIQUE = 'nvidia.com/gpu.clique';
const PATH = fabricsPath({ name: FABRIC_NAME });

class World {
  readonly script = new CacheScript();
  readonly api = new FakeKubeApi();
  readonly warned: string[] = [];
  readonly news: string[] = [];
  readonly errors: unknown[] = [];
  readonly controller = new FabricController({
    client: this.api,
    cache: this.script.cache,
    clock: this.script.clock,
    publishesLabels: false,
    warn: (job, note) => this.warned.push(`${job.metadata.name}: ${note}`),
    onNews: (key) => this.news.push(key),
    onError: (error) => this.errors.push(error),
  });

  fabric(): FabricResource | undefined {
    return this.api.objects<KubeObject>(fabricsPath())[0] as unknown as FabricResource | undefined;
  }

  async setSpec(spec: FabricSpec): Promise<void> {
    const { metadata } = this.fabric() ?? {};
    await this.api.replace(PATH, { ...this.fabric(), metadata, spec } as never);
    await this.controller.reconcile();
  }

  /** A job whose recorded placement of attempt 1 is on node-a and node-b. */
  runningJob(annotations: Readonly<Record<string, string>> = {}): void {
    const placement = aPlacement(this.script.job('llama'));
    const attempt = anAttempt({
      stage: 'Released',
      placement: placement.metadata.name,
      placementSha256: placementSha256(placement.spec),
    });
    const job = this.script.job('llama', {
      status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts: [attempt] },
    });
    this.script.placement(job, {}, annotations);
  }
}

describe('the Fabric resource', () => {
  it('is made where there is none, and tells what the nodes say', async () => {
    const world = new World();
    for (const [name, leaf] of [
      ['node-a', 'l1'],
      ['node-b', 'l1'],
      ['node-c', 'l2'],
    ] as const) {
      world.script.node(name, { gpus: 8, labels: { 'fabric.topograph.run/tier-0': leaf, [CLIQUE]: `u.${leaf}` } });
    }
    await world.controller.reconcile();
    expect(world.errors).toEqual([]);
    expect(world.fabric()?.spec).toEqual({});
    expect(world.fabric()?.status).toEqual({
      nodes: 3,
      gpus: 24,
      nvlinkDomains: 1,
      islandCount: 1,
      islands: [{ name: 'unlabelled', nodes: 3, gpus: 24 }],
      switches: [2],
      nodesWithoutSwitches: 0,
      sources: [
        { fact: 'nvlinkDomain', key: CLIQUE, nodes: 3 },
        { fact: 'switches', key: 'fabric.topograph.run/tier-0', nodes: 3 },
      ],
      problems: [],
      conditions: [
        {
          type: 'Consistent',
          status: 'True',
          reason: 'NothingContradicts',
          message: 'The facts about the nodes do not contradict each other.',
          observedGeneration: expect.any(Number) as number,
          lastTransitionTime: expect.any(String) as string,
        },
      ],
    });
  });

  it('is not written while nothing changes, whatever nodes say of their health', async () => {
    const world = new World();
    world.script.node('node-a');
    await world.controller.reconcile();
    const written = world.api.writes.length;
    world.script.node('node-a', { ready: false, note: 'again' });
    await world.controller.reconcile();
    await world.controller.reconcile();
    expect(world.api.writes).toHaveLength(written);
  });

  it.each([
    ['its definition is not installed', 404],
    ['the API server fails', 500],
  ])('is let be while %s, and kept afterwards', async (_sentence, status) => {
    const world = new World();
    world.api.interfere = ({ path }) => {
      if (path.startsWith(fabricsPath()))
        throw new KubeApiError({ status, message: 'no', method: 'GET', path } as never);
    };
    await world.controller.reconcile();
    expect([world.fabric(), world.errors.length]).toEqual([undefined, status === 404 ? 0 : 1]);
    world.api.interfere = () => undefined;
    await world.controller.reconcile();
    expect(world.fabric()?.status).toMatchObject({ nodes: 0 });
  });

  it('tells of a number of GPUs that is none, and of the next one', async () => {
    const world = new World();
    world.script.node('node-a', { gpus: 8 });
    for (const gpus of [8.5, 1e6]) {
      world.script.node('node-b', { gpus });
      await world.controller.reconcile();
      expect(world.fabric()?.status).toMatchObject({
        nodes: 1,
        problems: [
          { kind: 'GpusNotCounted', nodes: ['node-b'], message: expect.stringContaining(`"${gpus}"`) as string },
        ],
      });
    }
    world.script.node('node-b', { gpus: 8 });
    await world.controller.reconcile();
    expect(world.fabric()?.status).toMatchObject({ nodes: 2, problems: [] });
  });

  it('tells contradictions, and when they began', async () => {
    const world = new World();
    const inIsland = (name: string, island: string): void =>
      world.script.node(name, { labels: { [CLIQUE]: 'u.1', [NODE_LABELS.nicIsland]: island } });
    inIsland('node-a', 'a');
    inIsland('node-b', 'b');
    await world.controller.reconcile();
    const first = world.fabric()?.status;
    expect(first?.problems).toMatchObject([{ kind: 'DomainOverIslands', nodes: ['node-a', 'node-b'] }]);
    expect(first?.conditions).toMatchObject([{ type: 'Consistent', status: 'False', reason: 'DomainOverIslands' }]);
    await world.script.clock.advance(60_000);
    inIsland('node-c', 'c');
    await world.controller.reconcile();
    expect(world.fabric()?.status?.conditions[0]?.lastTransitionTime).toBe(first?.conditions[0]?.lastTransitionTime);
  });
});

describe('what the Fabric resource says of nodes', () => {
  it.each<[string, FabricSpec, readonly string[]]>([
    ['by name', { overrides: [{ nodes: ['node-a'], nvlinkDomain: 'rack' }] }, ['rack', 'node:node-b']],
    ['by label', { overrides: [{ nodeSelector: { pool: 'p' }, nvlinkDomain: 'rack' }] }, ['rack', 'rack']],
    [
      'by name and label',
      { overrides: [{ nodes: ['node-a'], nodeSelector: { pool: 'other' }, nvlinkDomain: 'rack' }] },
      ['node:node-a', 'node:node-b'],
    ],
    [
      'of two overrides by the later',
      {
        overrides: [
          { nodeSelector: { pool: 'p' }, nvlinkDomain: 'rack' },
          { nodes: ['node-b'], nvlinkDomain: 'other' },
        ],
      },
      ['rack', 'other'],
    ],
  ])('holds for placement at once, %s', async (_sentence, spec, want) => {
    const world = new World();
    const scheduler = createClusterScheduler(world.script.cache, world.script.clock);
    for (const name of ['node-a', 'node-b']) world.script.node(name, { labels: { pool: 'p' } });
    await world.controller.reconcile();
    await world.setSpec(spec);
    const { nodes } = scheduler.capacityFor('uid-of-nobody').fabric;
    expect(nodes.map(({ nvlinkDomain }) => nvlinkDomain)).toEqual(want);
  });

  it('is kept in reserve from the next look on, and no more when it is not said any more', async () => {
    const world = new World();
    const scheduler = createClusterScheduler(world.script.cache, world.script.clock);
    const reserve = (): unknown => scheduler.capacityFor('uid-of-nobody').reserve;
    await world.controller.reconcile();
    expect(reserve()).toBeUndefined();
    await world.setSpec({ reserve: { nodesPerNvlinkDomain: 1 } });
    expect(reserve()).toEqual({ nodesPerNvlinkDomain: 1, nodesPerIsland: 0 });
    await world.setSpec({ reserve: { nodesPerNvlinkDomain: 0 } });
    expect(reserve()).toBeUndefined();
  });

  it('names its source', async () => {
    const world = new World();
    world.script.node('node-a', { labels: { [CLIQUE]: 'u.1' } });
    await world.controller.reconcile();
    await world.setSpec({ overrides: [{ nodes: ['node-a'], switches: ['l', 's'], gpuType: 'h100' }] });
    expect(world.fabric()?.status).toMatchObject({
      switches: [1, 1],
      sources: [
        { fact: 'nvlinkDomain', key: CLIQUE },
        { fact: 'switches', key: 'Fabric cluster: fabric.coxswain.dev/tier-0' },
        { fact: 'gpuType', key: 'Fabric cluster: fabric.coxswain.dev/gpu-type' },
      ],
    });
  });

  it('stays as it was where this release cannot read it, and says so', async () => {
    const world = new World();
    world.script.node('node-a');
    await world.controller.reconcile();
    await world.setSpec({ overrides: [{ nodes: ['node-a'], island: 'ib' }] });
    await world.setSpec({ overrides: 'none' } as never);
    expect(world.fabric()?.status?.islands).toMatchObject([{ name: 'ib' }]);
    expect(world.fabric()?.status?.problems).toMatchObject([{ kind: 'Unreadable' }]);
  });
});

describe('what DRA drivers publish of the devices of nodes', () => {
  const slice = (encapsulation: string) => ({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: { name: 'node-a-dra.net' },
    spec: {
      driver: 'dra.net',
      nodeName: 'node-a',
      pool: { name: 'node-a', generation: 1, resourceSliceCount: 1 },
      devices: [
        {
          name: 'rdma0',
          attributes: { 'dra.net/rdma': { bool: true }, 'dra.net/encapsulation': { string: encapsulation } },
        },
      ],
    },
  });
  const sources = (world: World): unknown => world.fabric()?.status?.sources;

  it('is read, and read again after five minutes', async () => {
    const world = new World();
    world.script.node('node-a');
    const path = '/apis/resource.k8s.io/v1/resourceslices';
    const made = await world.api.create<KubeObject>(path, slice('infiniband'));
    await world.controller.reconcile();
    expect(sources(world)).toContainEqual({ fact: 'nicType', key: 'dra.net/encapsulation', nodes: 1 });
    await world.api.delete(`${path}/${made.metadata.name}`, { uid: made.metadata.uid ?? '' });
    await world.controller.reconcile();
    expect(sources(world)).toHaveLength(2);
    await world.script.clock.advance(300_000);
    await world.controller.reconcile();
    expect([sources(world), world.errors]).toEqual([[], []]);
  });

  it.each([
    [403, 0],
    [404, 0],
    [500, 1],
  ])('is not known where the API server answers %s, and all else is kept as ever', async (status, errors) => {
    const world = new World();
    world.script.node('node-a');
    world.api.interfere = ({ path }) => {
      if (path.includes('resourceslices'))
        throw new KubeApiError({ status, message: 'no', method: 'GET', path } as never);
    };
    await world.controller.reconcile();
    expect([world.fabric()?.status?.nodes, world.errors.length]).toEqual([1, errors]);
  });
});

describe('labels that change under a running job', () => {
  const labelled = (world: World, name: string, clique: string): void =>
    world.script.node(name, { labels: { [CLIQUE]: clique } });

  it('are told to the job once, and by status until they are put back', async () => {
    const world = new World();
    for (const name of ['node-a', 'node-b', 'node-c']) labelled(world, name, 'u.1');
    world.runningJob();
    await world.controller.reconcile();
    expect(world.fabric()?.status?.problems).toEqual([]);
    labelled(world, 'node-b', 'u.2');
    labelled(world, 'node-c', 'u.2');
    await world.controller.reconcile();
    await world.controller.reconcile();
    const message =
      'Job research/llama runs on node-b, whose NVLink domain was nvidia.com/gpu.clique=u.1 and is nvidia.com/gpu.clique=u.2 now.';
    expect(world.warned).toEqual([expect.stringContaining(`llama: ${message}`)]);
    expect(world.fabric()?.status).toMatchObject({
      problems: [{ kind: 'ChangedUnderJob', nodes: ['node-b'], message: expect.stringContaining(message) as string }],
      conditions: [{ status: 'False', reason: 'ChangedUnderJob' }],
    });
    labelled(world, 'node-b', 'u.1');
    await world.controller.reconcile();
    expect(world.fabric()?.status?.problems).toEqual([]);
  });

  it.each<[string, string | undefined, RegExp | undefined]>([
    [
      'by another leader too, which goes by what the Placement keeps',
      'u.1',
      /NVLink domain was .*=u\.1 and is .*=u\.2 now/,
    ],
    ['by nobody where the Placement keeps what is said now', 'u.2', undefined],
    ['by nobody where it keeps nothing: as they are first seen they count', undefined, undefined],
  ])('are told %s', async (_sentence, kept, want) => {
    const before = new World();
    for (const name of ['node-a', 'node-b']) labelled(before, name, kept ?? 'u.1');
    await before.controller.reconcile();
    const text = before.controller.placesToText(['node-a', 'node-b']);

    const world = new World();
    for (const name of ['node-a', 'node-b']) labelled(world, name, 'u.2');
    world.runningJob(kept === undefined || text === undefined ? {} : { [ANNOTATIONS.places]: text });
    await world.controller.reconcile();
    const [job] = world.script.cache.jobs.cached.list();
    const change = world.controller.changeOf(job?.metadata.uid ?? '');
    if (want === undefined) expect([change, world.news]).toEqual([undefined, []]);
    else expect([change, world.news]).toEqual([expect.stringMatching(want), ['research/llama']]);
  });

  it('wake their job when they are put back', async () => {
    const world = new World();
    for (const name of ['node-a', 'node-b']) labelled(world, name, 'u.1');
    world.runningJob();
    for (const clique of ['u.1', 'u.2', 'u.1']) {
      labelled(world, 'node-b', clique);
      await world.controller.reconcile();
    }
    expect(world.news).toEqual(['research/llama', 'research/llama']);
  });
});
