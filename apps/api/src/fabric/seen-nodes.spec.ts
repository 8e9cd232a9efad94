import { GPU_RESOURCE, NODE_LABELS } from '@coxswain/api-types';
import { KubeApiError } from '@coxswain/kube';
import { FakeClock, FakeKubeApi, settle } from '@coxswain/kube/testing';
import { SeenNodes, type Sight } from './seen-nodes.ts';

const NODES = '/api/v1/nodes';

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

function seeing(kube: FakeKubeApi): { readonly nodes: SeenNodes; readonly clock: FakeClock; look(): Promise<Sight> } {
  const clock = new FakeClock();
  const nodes = new SeenNodes({ kube, stopping: stopping.signal, clock });
  const look = async (): Promise<Sight> => {
    const looking = nodes.look(1_000);
    for (let waits = 0; waits < 60; waits++) {
      await settle();
      clock.advance(20);
    }
    return looking;
  };
  return { nodes, clock, look };
}

const islands = ({ fabric }: Sight): readonly string[] | undefined => fabric?.nodes.map(({ island }) => island);

describe('the nodes that the API sees', () => {
  it('are asked for when somebody looks, and not before', async () => {
    const kube = new FakeKubeApi();
    const asked: string[] = [];
    kube.interfere = ({ path }) => void asked.push(path);
    const { look } = seeing(kube);
    await settle();
    expect(asked).toEqual([]);
    await look();
    expect(asked).toContain(NODES);
  });

  it('are the same fabric until one says something else, and are drawn anew at most every two seconds', async () => {
    const kube = new FakeKubeApi();
    await kube.create(NODES, aNode('a', 'ib-0'));
    const { nodes, clock, look } = seeing(kube);
    const first = await look();
    expect(islands(first)).toEqual(['ib-0']);
    clock.advance(10_000);
    expect((await nodes.look(0)).fabric).toBe(first.fabric);
    await kube.create(NODES, aNode('b', 'ib-1'));
    await settle();
    const second = await nodes.look(0);
    expect(islands(second)).toEqual(['ib-0', 'ib-1']);
    await kube.create(NODES, aNode('c', 'ib-2'));
    await settle();
    expect((await nodes.look(0)).fabric).toBe(second.fabric);
    clock.advance(2_000);
    await look();
    expect(islands(await nodes.look(0))).toEqual(['ib-0', 'ib-1', 'ib-2']);
  });

  it('are a sentence where the API server refuses', async () => {
    const kube = new FakeKubeApi();
    kube.interfere = () => {
      const message = 'nodes is forbidden: User "api" cannot list resource "nodes"';
      throw new KubeApiError({ status: 403, reason: 'Forbidden', message });
    };
    expect(await seeing(kube).look()).toEqual({
      problem: expect.stringMatching(
        /^the nodes of the cluster cannot be read: .*cannot list resource "nodes"/,
      ) as string,
    });
  });
});
