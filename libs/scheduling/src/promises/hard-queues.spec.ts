/** Does the order hold in queues that are hard: one priority for all, thousands of jobs of one tenant, a head that fits nowhere, windows? */
import type { NodeWindow } from '@coxswain/fabric';
import { VirtualCluster } from '../testing/virtual-cluster.ts';

const BEGAN_MS = Date.parse('2026-01-01T00:00:00Z');
const windowAt = (from: number, until: number, name = 'firmware'): NodeWindow => {
  const [fromMs, untilMs] = [BEGAN_MS + from * 60_000, BEGAN_MS + until * 60_000];
  return { name, fromMs, untilMs, heldFromMs: 0 };
};

it('if every job has the same priority, one job has nodes held for it, and namespaces take turns', () => {
  const cluster = new VirtualCluster([2]);
  cluster.submit({ name: 'runs', namespace: 'x', pods: 2, minutes: 10 });
  for (const [name, namespace] of [
    ['x1', 'x'],
    ['x2', 'x'],
    ['y1', 'y'],
    ['y2', 'y'],
  ] as const) {
    cluster.submit({ name, namespace, pods: 2, minutes: 10, priority: 7 });
    cluster.advance(0.1);
  }
  expect(cluster.waiting.filter((uid) => cluster.promiseFor(uid) !== undefined)).toHaveLength(1);
  while (!cluster.isIdle) cluster.nextEnd();
  // The first in an idle queue keeps its place; after it, namespaces take turns.
  expect(cluster.started).toEqual(['runs', 'x1', 'y1', 'x2', 'y2']);
});

it('a tenant with 2,000 jobs does not keep the job of another one from its turn', () => {
  const cluster = new VirtualCluster([2]);
  cluster.submit({ name: 'runs', namespace: 'many', pods: 2, minutes: 10 });
  for (let index = 0; index < 2_000; index += 1)
    cluster.submit({ name: `many-${String(index)}`, namespace: 'many', pods: 2, minutes: 10 });
  cluster.submit({ name: 'one', namespace: 'few', pods: 2, minutes: 10 });
  for (let end = 0; end < 3; end += 1) cluster.nextEnd();
  expect(cluster.started.slice(0, 4)).toEqual(['runs', 'many-0', 'one', 'many-1']);
});

it('a job that an empty cluster could not hold keeps no nodes from others, and one job is held for behind it', () => {
  const cluster = new VirtualCluster([3]);
  cluster.submit({ name: 'runs', pods: 2, minutes: 60 });
  cluster.submit({ name: 'never', pods: 4, minutes: 60 });
  cluster.submit({ name: 'head', pods: 3, minutes: 60 });
  cluster.submit({ name: 'short', pods: 1, minutes: 10 });
  cluster.advance(1);
  expect([cluster.promiseFor('never'), cluster.promiseFor('head')?.gpus.size]).toEqual([undefined, 3]);
  expect(cluster.started).toEqual(['runs', 'short']);
  while (!cluster.isIdle) cluster.nextEnd();
  expect(cluster.started).toEqual(['runs', 'short', 'head']);
});

describe('nodes are held for a job behind windows of the Fabric', () => {
  const heldOf = (declared: ReadonlyMap<string, readonly NodeWindow[]>): readonly string[] => {
    let windows: ReadonlyMap<string, readonly NodeWindow[]> = new Map();
    const cluster = new VirtualCluster([4], { windows: () => windows });
    cluster.submit({ name: 'runs', pods: 4, minutes: 30 });
    windows = declared;
    cluster.submit({ name: 'head', pods: 2, minutes: 60 });
    cluster.advance(1);
    return [...(cluster.promiseFor('head')?.gpus.keys() ?? [])].sort();
  };
  const over = (...windows: readonly NodeWindow[]) => new Map(['n0-0', 'n0-1'].map((name) => [name, windows]));
  it.each<[string, ReadonlyMap<string, readonly NodeWindow[]>, readonly string[]]>([
    ['that overlap: on other nodes', over(windowAt(20, 60), windowAt(50, 300, 'other')), ['n0-2', 'n0-3']],
    ['that began in the past: on other nodes', over(windowAt(-600, 300)), ['n0-2', 'n0-3']],
    ['that are over: on any node', over(windowAt(-600, -300)), ['n0-0', 'n0-1']],
    ['that lie over no node of the cluster: on any node', new Map([['gone', [windowAt(0, 300)]]]), ['n0-0', 'n0-1']],
  ])('%s', (_sentence, windows, want) => {
    expect(heldOf(windows)).toEqual(want);
  });
});

it('a quota that is lowered below what runs stops no gang, and its namespace holds no nodes meanwhile', () => {
  const cluster = new VirtualCluster([2]);
  cluster.submit({ name: 'runs', pods: 2, minutes: 60 });
  cluster.submit({ name: 'head', pods: 2, minutes: 60 });
  cluster.submit({ name: 'other', namespace: 'y', pods: 2, minutes: 60 });
  cluster.refusePods('head');
  cluster.advance(2);
  expect([cluster.promiseFor('head'), cluster.promiseFor('other')?.gpus.size]).toEqual([undefined, 2]);
  cluster.nextEnd();
  expect(cluster.started).toEqual(['runs', 'other']);
});
