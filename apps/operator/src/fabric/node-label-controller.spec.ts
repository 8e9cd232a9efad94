import { PUBLISHED_LABELS } from '@coxswain/api-types';
import { fabricFromNodes, type FabricNode } from '@coxswain/fabric';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { FakeClock, FakeKubeApi } from '@coxswain/kube/testing';
import { type CachedNode, toCachedNode } from '../cluster/cached-node.ts';
import { nodesPath } from '../cluster/paths.ts';
import { NodeLabelController } from './node-label-controller.ts';

const LOOK_MS = 5_000;
const { island, switchTierPrefix } = PUBLISHED_LABELS;
const LEAF = 'fabric.coxswain.dev/tier-0';
const DECLARED = 'fabric.coxswain.dev/nic-island';
const OURS = /^topology\.coxswain\.dev\//;

/** Nodes of an API server that the desk sees at once, looked at every five seconds. */
class World {
  readonly api = new FakeKubeApi();
  readonly clock = new FakeClock();
  readonly errors: unknown[] = [];
  controller = this.#controller(true);

  turn(isAsked: boolean): void {
    this.controller = this.#controller(isAsked);
  }

  #controller(isAsked: boolean): NodeLabelController {
    return new NodeLabelController({
      client: this.api,
      clock: this.clock,
      isAsked,
      onError: (error) => this.errors.push(error),
    });
  }

  async node(name: string, labels: Readonly<Record<string, string>>, gpus = 8): Promise<void> {
    const status = { allocatable: { 'nvidia.com/gpu': String(gpus) } };
    await this.api.create(nodesPath(), { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, status } as never);
  }

  label(name: string, labels: Readonly<Record<string, string | null>>): Promise<unknown> {
    return this.api.patch(nodesPath(name), { metadata: { labels } }, { type: 'merge' });
  }

  labels(name: string): Readonly<Record<string, string>> {
    const nodes = this.api.objects<KubeObject>(nodesPath());
    const all = Object.entries(nodes.find(({ metadata }) => metadata.name === name)?.metadata.labels ?? {});
    return Object.fromEntries(all.filter(([key]) => OURS.test(key)));
  }

  async reconcileTimes(count: number): Promise<void> {
    for (let round = 0; round < count; round++) {
      const nodes: readonly CachedNode[] = this.api.objects<KubeObject>(nodesPath()).map((node) => toCachedNode(node));
      const fabric = fabricFromNodes(nodes.map(({ facts }) => facts));
      await this.controller.reconcile(new Map(fabric.nodes.map((node: FabricNode) => [node.name, node])), nodes);
      await this.clock.advance(LOOK_MS);
    }
  }

  get writes(): number {
    return this.api.writes.length;
  }
}

describe('labels of what was concluded of nodes', () => {
  it('are written once two looks agree, on nodes with GPUs, and not again while they are as they should be', async () => {
    const world = new World();
    await world.node('a', { [DECLARED]: 'ib', [LEAF]: 'l1' });
    await world.node('cpu', { [DECLARED]: 'ib' }, 0);
    await world.reconcileTimes(1);
    expect(world.labels('a')).toEqual({});
    await world.reconcileTimes(1);
    const labels = world.labels('a');
    expect(labels).toEqual({ [island]: 'ib', [`${switchTierPrefix}0`]: expect.stringMatching(/^l1\.[0-9a-f]{10}$/) });
    expect(world.labels('cpu')).toEqual({});
    const { writes } = world;
    await world.reconcileTimes(30);
    expect(world.writes).toBe(writes);
  });

  it('follow what is said of nodes, and correct what somebody else wrote, at most once a minute for a node', async () => {
    const world = new World();
    await world.node('a', { [DECLARED]: 'ib' });
    await world.reconcileTimes(2);
    const { writes } = world;
    await world.label('a', { [island]: 'mine' });
    await world.reconcileTimes(10);
    expect(world.labels('a')).toEqual({ [island]: 'mine' });
    await world.reconcileTimes(3);
    expect(world.labels('a')).toEqual({ [island]: 'ib' });
    expect(world.writes).toBe(writes + 2);
    await world.reconcileTimes(12);
    await world.label('a', { [DECLARED]: 'roce' });
    await world.reconcileTimes(2);
    expect(world.labels('a')).toEqual({ [island]: 'roce' });
  });

  it('do not follow labels that change at every look', async () => {
    const world = new World();
    await world.node('a', { [DECLARED]: 'ib-0' });
    await world.reconcileTimes(2);
    for (let turn = 0; turn < 30; turn++) {
      await world.label('a', { [DECLARED]: `ib-${turn}` });
      await world.reconcileTimes(1);
    }
    expect(world.labels('a')).toEqual({ [island]: 'ib-0' });
  });

  it('are taken away where they are not asked for any more, and from a node that lost its GPUs; those of others stay', async () => {
    const world = new World();
    await world.node('a', { [DECLARED]: 'ib', 'topology.coxswain.dev/theirs': 'x' });
    await world.node('cpu', { [island]: 'ib' }, 0);
    await world.reconcileTimes(2);
    expect(world.labels('cpu')).toEqual({});
    world.turn(false);
    await world.reconcileTimes(2);
    expect(world.labels('a')).toEqual({ 'topology.coxswain.dev/theirs': 'x' });
    const { writes } = world;
    await world.reconcileTimes(5);
    expect(world.writes).toBe(writes);
  });

  it('of many nodes are written in turns', async () => {
    const world = new World();
    for (let index = 0; index < 150; index++) await world.node(`n${index}`, { [DECLARED]: 'ib' });
    const before = world.writes;
    await world.reconcileTimes(2);
    expect(world.writes - before).toBe(100);
    await world.reconcileTimes(1);
    expect(world.writes - before).toBe(150);
  });

  it('are tried again in five minutes where that is refused, and told once a try', async () => {
    const world = new World();
    for (const name of ['a', 'b']) await world.node(name, { [DECLARED]: 'ib' });
    const refused = new KubeApiError({ status: 403, reason: 'Forbidden', message: 'no' });
    let isRefused = true;
    world.api.interfere = ({ verb }) => {
      if (verb === 'patch' && isRefused) throw refused;
    };
    await world.reconcileTimes(20);
    expect(world.errors).toEqual([refused]);
    isRefused = false;
    await world.reconcileTimes(60);
    expect([world.labels('a'), world.labels('b')]).toEqual([{ [island]: 'ib' }, { [island]: 'ib' }]);
  });
});
