import { API_GROUP_VERSION, FABRIC_NAME, GPU_RESOURCE, NODE_LABELS } from '@coxswain/api-types';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { FakeClock, FakeKubeApi, settle } from '@coxswain/kube/testing';
import { SeenNodes, type FabricObservation } from './seen-nodes.ts';

const NODES = '/api/v1/nodes';
const SLICES = '/apis/resource.k8s.io/v1/resourceslices';
const FABRICS = `/apis/${API_GROUP_VERSION}/fabrics`;

function aFabric(name: string, spec: object): object {
  return { apiVersion: API_GROUP_VERSION, kind: 'Fabric', metadata: { name }, spec };
}

function aNode(name: string, island: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { [NODE_LABELS.nicIsland]: island } },
    status: { allocatable: { [GPU_RESOURCE]: '8' }, conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

const stopping = new AbortController();
afterAll(() => stopping.abort());

function seeing(kube: FakeKubeApi): {
  readonly nodes: SeenNodes;
  readonly clock: FakeClock;
  observe(): Promise<FabricObservation>;
} {
  const clock = new FakeClock();
  const nodes = new SeenNodes({ kube, stopping: stopping.signal, clock });
  const observe = async (): Promise<FabricObservation> => {
    const looking = nodes.observe(1_000);
    for (let waits = 0; waits < 60; waits++) {
      await settle();
      clock.advance(20);
    }
    return looking;
  };
  return { nodes, clock, observe: observe };
}

const islands = ({ fabric }: FabricObservation): readonly string[] | undefined =>
  fabric?.nodes.map(({ island }) => island);

describe('the nodes that the API sees', () => {
  it('are asked for when somebody looks, and not before', async () => {
    const kube = new FakeKubeApi();
    const asked: string[] = [];
    kube.interfere = ({ path }) => void asked.push(path);
    const { observe: observe } = seeing(kube);
    await settle();
    expect(asked).toEqual([]);
    await observe();
    expect(asked).toContain(NODES);
  });

  it('are the same fabric until one says something else, and are drawn anew at most every two seconds', async () => {
    const kube = new FakeKubeApi();
    await kube.create(NODES, aNode('a', 'ib-0'));
    const { nodes, clock, observe: observe } = seeing(kube);
    const first = await observe();
    expect(islands(first)).toEqual(['ib-0']);
    clock.advance(10_000);
    expect((await nodes.observe(0)).fabric).toBe(first.fabric);
    await kube.create(NODES, aNode('b', 'ib-1'));
    await settle();
    const second = await nodes.observe(0);
    expect(islands(second)).toEqual(['ib-0', 'ib-1']);
    await kube.create(NODES, aNode('c', 'ib-2'));
    await settle();
    expect((await nodes.observe(0)).fabric).toBe(second.fabric);
    clock.advance(2_000);
    await observe();
    expect(islands(await nodes.observe(0))).toEqual(['ib-0', 'ib-1', 'ib-2']);
  });

  it('are as an administrator says, by labels that nothing else is read from', async () => {
    const kube = new FakeKubeApi();
    const rack = { metadata: { name: 'a', labels: { [NODE_LABELS.nicIsland]: 'ib-0', 'example.com/rack': 'r1' } } };
    await kube.create(NODES, { ...aNode('a', ''), ...rack });
    await kube.create(NODES, aNode('b', 'ib-0'));
    const { observe: observe, clock } = seeing(kube);
    const later = async (): Promise<readonly string[] | undefined> => {
      await observe();
      clock.advance(2_000);
      return islands(await observe());
    };
    expect(await later()).toEqual(['ib-0', 'ib-0']);
    const fabricSpec = (island: string): object => ({
      overrides: [{ nodeSelector: { 'example.com/rack': 'r1' }, island }],
    });
    const made = (await kube.create(FABRICS, aFabric(FABRIC_NAME, fabricSpec('ib-7')))) as KubeObject;
    expect(await later()).toEqual(['ib-7', 'ib-0']);
    await kube.create(FABRICS, aFabric('another', fabricSpec('ib-9')));
    await kube.replace(`${FABRICS}/${FABRIC_NAME}`, { ...made, spec: { overrides: [{ gpus: 8 }] } } as never);
    expect(await later()).toEqual(['ib-7', 'ib-0']);
    await kube.delete(`${FABRICS}/${FABRIC_NAME}`, { uid: made.metadata.uid ?? '' });
    expect(await later()).toEqual(['ib-0', 'ib-0']);
  });

  it('are as DRA drivers say of their devices, which is read again after five minutes', async () => {
    const kube = new FakeKubeApi();
    await kube.create(NODES, aNode('a', ''));
    const clique = (value: string): object => ({
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name: 'a-gpus' },
      spec: {
        driver: 'gpu.nvidia.com',
        nodeName: 'a',
        pool: { name: 'a', generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'gpu-0', attributes: { productName: { string: value } } }],
      },
    });
    const made = (await kube.create(SLICES, clique('NVIDIA H100') as never)) as KubeObject;
    const { observe: observe, clock } = seeing(kube);
    const observedIslands = async (): Promise<unknown> => {
      const [node] = (await observe()).fabric?.nodes ?? [];
      return [node?.gpuType, node?.readFrom?.gpuType];
    };
    expect(await observedIslands()).toEqual(['NVIDIA-H100', 'gpu.nvidia.com/productName']);
    await kube.replace(`${SLICES}/a-gpus`, { ...clique('NVIDIA H200'), metadata: made.metadata } as never);
    await clock.advance(200_000);
    expect(await observedIslands()).toEqual(['NVIDIA-H100', 'gpu.nvidia.com/productName']);
    await clock.advance(100_000);
    await observedIslands();
    expect(await observedIslands()).toEqual(['NVIDIA-H200', 'gpu.nvidia.com/productName']);
  });

  it('are drawn without overrides where those cannot be read', async () => {
    const kube = new FakeKubeApi();
    await kube.create(NODES, aNode('a', 'ib-0'));
    kube.interfere = ({ path }) => {
      if (path !== NODES) throw new KubeApiError({ status: 404, reason: 'NotFound', message: 'no fabrics here' });
    };
    expect(islands(await seeing(kube).observe())).toEqual(['ib-0']);
  });

  it('are waited for where the API server cannot answer at once, and only then a sentence', async () => {
    const kube = new FakeKubeApi();
    await kube.create(NODES, aNode('a', 'ib-0'));
    let answers = 0;
    kube.interfere = ({ path }) => {
      if (path === NODES && answers++ < 1)
        throw new KubeApiError({ status: 503, reason: 'ServiceUnavailable', message: 'etcd has no leader' });
    };
    const { observe: observe, nodes } = seeing(kube);
    const early = nodes.observe(0);
    expect(await early).toMatchObject({ problem: expect.stringContaining('not all been read yet') as string });
    await settle();
    expect(await nodes.observe(0)).toMatchObject({ problem: expect.stringContaining('etcd has no leader') as string });
    for (let attempt = 0; attempt < 10 && islands(await observe()) === undefined; attempt++) await settle();
    expect(islands(await observe())).toEqual(['ib-0']);
  });

  it('are a sentence where the API server refuses', async () => {
    const kube = new FakeKubeApi();
    kube.interfere = () => {
      const message = 'nodes is forbidden: User "api" cannot list resource "nodes"';
      throw new KubeApiError({ status: 403, reason: 'Forbidden', message });
    };
    expect(await seeing(kube).observe()).toEqual({
      problem: expect.stringMatching(
        /^the nodes of the cluster cannot be read: .*cannot list resource "nodes"/,
      ) as string,
    });
  });
});
