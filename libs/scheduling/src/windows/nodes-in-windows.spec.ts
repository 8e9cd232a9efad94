import type { NodeWindow } from '@coxswain/fabric';
import { VirtualCluster, type VirtualJob } from '../testing/virtual-cluster.ts';

const BEGAN_MS = Date.parse('2026-01-01T00:00:00Z');
const MINUTE_MS = 60_000;

/** One hour, an hour after the beginning. */
function anHour(rest: Partial<NodeWindow> = {}): NodeWindow {
  const [fromMs, untilMs] = [60, 120].map((minutes) => BEGAN_MS + minutes * MINUTE_MS) as [number, number];
  return { name: 'firmware', fromMs, untilMs, heldFromMs: 0, ...rest };
}

describe('a window over a node of two', () => {
  const job = (rest: Partial<VirtualJob>): VirtualJob => ({ name: 'job', pods: 2, minutes: 30, ...rest });
  const aCluster = (window: NodeWindow): VirtualCluster =>
    new VirtualCluster([2], { windows: () => new Map([['n0-1', [window]]]) });

  it.each<[string, VirtualJob, Partial<NodeWindow>, boolean]>([
    ['lets a job in that ends before it', job({}), {}, true],
    ['keeps a job out that would still run', job({ minutes: 90 }), {}, false],
    ['leaves the other node to a job that would still run', job({ minutes: 90, pods: 1 }), {}, true],
    ['lets a job of its project in', job({ minutes: 90, namespace: 'ours' }), { namespace: 'ours' }, true],
    ['keeps jobs of others out', job({ minutes: 90 }), { namespace: 'ours' }, false],
  ])('%s', (_sentence, submitted, window, want) => {
    const cluster = aCluster(anHour(window));
    cluster.submit(submitted);
    expect(cluster.started).toEqual(want ? ['job'] : []);
  });

  it('gives the node back to the job that waits, and says until then why it waits', () => {
    const cluster = aCluster(anHour());
    cluster.submit(job({ minutes: 90 }));
    expect(cluster.scheduler.closedTo('job')).toBe(
      'Windows of the Fabric keep this job off 1 node from 2026-01-01T01:00:00Z until 2026-01-01T02:00:00Z (firmware, maintenance).',
    );
    cluster.advance(119);
    expect(cluster.started).toEqual([]);
    cluster.advance(1);
    expect([cluster.started, cluster.scheduler.closedTo('job')]).toEqual([['job'], undefined]);
  });

  it('does not refuse its nodes to a short job because a long one was refused', () => {
    const cluster = aCluster(anHour());
    cluster.submit(job({ name: 'long', minutes: 90 }));
    cluster.submit(job({ name: 'short', minutes: 30 }));
    expect(cluster.started).toEqual(['short']);
  });

  it('is declared while the node is held for a job, which then waits for another', () => {
    let windows = new Map<string, readonly NodeWindow[]>();
    const cluster = new VirtualCluster([3], { windows: () => windows });
    cluster.submit(job({ name: 'first', pods: 1, minutes: 50 }));
    cluster.submit(job({ name: 'other', pods: 2, minutes: 20 }));
    cluster.submit(job({ name: 'head', pods: 2, minutes: 90 }));
    const held = [...(cluster.promiseFor('head')?.gpus.keys() ?? [])];
    windows = new Map([[held[0] ?? '', [anHour()]]]);
    cluster.scheduler.reserveChanged();
    cluster.advance(6);
    const promise = cluster.promiseFor('head');
    expect([promise?.gpus.has(held[0] ?? ''), promise?.moved]).toEqual([
      false,
      `A window of the Fabric keeps this job off node ${held[0] ?? ''}, which was held for it.`,
    ]);
  });
});
