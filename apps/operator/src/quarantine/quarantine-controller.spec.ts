import { GPU_RESOURCE, NODE_MARKS } from '@coxswain/api-types';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { FakeKubeApi } from '@coxswain/kube/testing';
import type { QuarantineMode } from '@coxswain/lifecycle';
import { nodesPath } from '../cluster/paths.ts';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { QuarantineController } from './quarantine-controller.ts';

const FELL_OFF = { type: 'SysLogsGPUFallenOff', status: 'True', message: 'ErrorCode:79 PCI:0000:02:00' };
const OTHERS = { key: 'example.com/theirs', effect: 'NoSchedule' };

interface RawNode extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly taints: readonly { readonly key: string }[] };
}

class World {
  readonly script = new CacheScript();
  readonly api = new FakeKubeApi();
  readonly changes: string[] = [];
  readonly errors: unknown[] = [];
  readonly controller: QuarantineController;

  constructor(mode: QuarantineMode = 'Conditions') {
    this.controller = new QuarantineController({
      client: this.api,
      cache: this.script.cache,
      clock: this.script.clock,
      mode,
      onChange: ({ node, change }) => this.changes.push(`${node} ${change}`),
      onError: (error) => this.errors.push(error),
    });
  }

  async add(name: string, conditions: readonly object[] = []): Promise<void> {
    await this.api.create(nodesPath(), {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      spec: { taints: [OTHERS] },
      status: {
        allocatable: { [GPU_RESOURCE]: '8' },
        conditions: [{ type: 'Ready', status: 'True' }, ...conditions],
        nodeInfo: { bootID: 'boot-1' },
      },
    } as unknown as KubeObject);
    this.see();
  }

  /** The watch brings what the server holds. */
  see(): void {
    const { nodes, readNode } = this.script.cache;
    for (const node of this.api.objects(nodesPath())) nodes.upsert(readNode(node));
  }

  async reconcile(): Promise<void> {
    await this.controller.reconcile();
    this.see();
  }

  node(name: string): RawNode | undefined {
    return this.api.objects<RawNode>(nodesPath()).find(({ metadata }) => metadata.name === name);
  }

  taints(name: string): readonly string[] {
    return (this.node(name)?.spec.taints ?? []).map(({ key }) => key);
  }
}

describe('a node whose condition says that it is ill', () => {
  it('is tainted beside what others tainted, with what shows it, once, and takes no gangs', async () => {
    const world = new World();
    await world.add('ill', [FELL_OFF]);
    await world.reconcile();
    await world.reconcile();
    expect(world.taints('ill')).toEqual([OTHERS.key, NODE_MARKS.quarantine]);
    expect(world.node('ill')?.metadata.annotations?.[NODE_MARKS.quarantine]).toMatch(/boot-1.*SysLogsGPUFallenOff/);
    expect(world.api.writes.filter(({ verb }) => verb === 'patch')).toHaveLength(1);
    expect(world.changes).toEqual(['ill quarantined']);
    expect(world.script.cache.nodes.get('ill')?.facts.schedulable).toBe(false);
  });

  it('is known to the next operator by its Node, and is free again once it was booted again', async () => {
    const world = new World();
    await world.add('ill', [FELL_OFF]);
    await world.reconcile();
    const after = new World();
    const { metadata, ...node } = world.node('ill') ?? { metadata: { name: 'ill' } };
    const healthy = { allocatable: { [GPU_RESOURCE]: '8' }, conditions: [], nodeInfo: { bootID: 'boot-2' } };
    const { name, annotations } = metadata as RawNode['metadata'];
    await after.api.create(nodesPath(), { ...node, metadata: { name, annotations }, status: healthy } as never);
    after.see();
    await after.reconcile();
    expect(after.taints('ill')).toEqual([OTHERS.key]);
    expect(after.node('ill')?.metadata.annotations?.[NODE_MARKS.quarantine]).toBeUndefined();
    expect(after.changes).toEqual(['ill released']);
  });

  it('stays free once a person has taken the taint away', async () => {
    const world = new World();
    await world.add('ill', [FELL_OFF]);
    await world.reconcile();
    await world.api.patch(nodesPath('ill'), { spec: { taints: [OTHERS] } }, { type: 'merge' });
    for (let round = 0; round < 3; round += 1) {
      world.see();
      await world.reconcile();
    }
    expect(world.taints('ill')).toEqual([OTHERS.key]);
    expect(world.changes).toEqual(['ill quarantined', 'ill overruled']);
  });

  it('is held back where a tenth are in quarantine, and told of once', async () => {
    const world = new World();
    for (const name of ['a', 'b']) await world.add(name, [FELL_OFF]);
    await world.reconcile();
    await world.reconcile();
    expect([world.taints('a').length, world.taints('b').length]).toEqual([2, 1]);
    expect(world.changes).toEqual(['a quarantined', 'b heldBack']);
  });

  it('is judged again by a live read: where somebody was faster nothing is written', async () => {
    const world = new World();
    await world.add('ill', [FELL_OFF]);
    await world.api.patch(nodesPath('ill'), { spec: { taints: [{ key: NODE_MARKS.quarantine }] } }, { type: 'merge' });
    const before = world.api.writes.length;
    await world.reconcile();
    expect(world.api.writes).toHaveLength(before);
  });

  it('is left alone where nobody is to be kept back', async () => {
    const world = new World('Off');
    await world.add('ill', [FELL_OFF]);
    await world.reconcile();
    expect(world.taints('ill')).toEqual([OTHERS.key]);
  });

  it('is tried again where the server refuses, and holds up no other', async () => {
    const world = new World();
    await world.add('ill', [FELL_OFF]);
    world.api.interfere = ({ verb }) => {
      if (verb === 'patch') throw new KubeApiError({ status: 403, reason: 'Forbidden', message: 'no' });
    };
    await world.reconcile();
    expect([world.changes, world.errors.length]).toEqual([[], 1]);
    world.api.interfere = () => undefined;
    await world.reconcile();
    expect(world.changes).toEqual(['ill quarantined']);
  });
});

describe('what jobs say of a node', () => {
  const avoided = {
    node: 'ill',
    reason: 'Condemned',
    epoch: 1,
    since: '2026-11-25T11:00:00Z',
    bootId: 'boot-1',
  } as const;

  it.each<[QuarantineMode, readonly string[]]>([
    ['Conditions', []],
    // Both jobs are of one namespace.
    ['ConditionsAndJobs', []],
  ])('in mode %s: two jobs of one tenant keep it from nobody else', async (mode, changes) => {
    const world = new World(mode);
    await world.add('ill');
    for (const name of ['left', 'right']) {
      const status = { epoch: 1, restarts: { total: 0, charged: 0 }, avoidedNodes: [avoided] };
      world.script.job(name, { status });
    }
    await world.reconcile();
    expect(world.changes).toEqual(changes);
  });
});
