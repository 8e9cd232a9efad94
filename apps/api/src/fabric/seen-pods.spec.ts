import { GPU_RESOURCE, LABELS } from '@coxswain/api-types';
import { SeenPods } from './seen-pods.ts';

const pod = (nodeName: string, gpus: number, labels: object = {}, phase = 'Running'): object => ({
  metadata: { name: 'a', labels },
  spec: { nodeName, containers: [{ resources: { limits: { [GPU_RESOURCE]: String(gpus) } } }] },
  status: { phase },
});

/** Pods on a cluster whose answers can be changed, and the number of lists. */
class Cluster {
  nowMs = 0;
  lists = 0;
  pods: readonly object[] | Error = [];
  readonly seen = new SeenPods({
    kube: {
      list: (() => {
        this.lists++;
        return this.pods instanceof Error
          ? Promise.reject(this.pods)
          : Promise.resolve({ metadata: { continue: '' }, items: this.pods });
      }) as never,
    },
    clock: { monotonicMs: () => this.nowMs },
  });

  async held(): Promise<object | undefined> {
    const held = await this.seen.heldByOthers();
    return held && Object.fromEntries(held);
  }
}

describe('GPUs that pods of others hold', () => {
  it('are summed by node, without pods of jobs and pods that ended', async () => {
    const cluster = new Cluster();
    cluster.pods = [
      pod('n1', 2),
      pod('n1', 1),
      pod('n2', 8, { [LABELS.jobUid]: 'x' }),
      pod('n3', 4, {}, 'Succeeded'),
      pod('n4', 0),
    ];
    expect(await cluster.held()).toEqual({ n1: 3 });
  });

  it('are read again after half a minute, and not before', async () => {
    const cluster = new Cluster();
    await cluster.held();
    cluster.pods = [pod('n1', 8)];
    cluster.nowMs = 29_999;
    expect([await cluster.held(), cluster.lists]).toEqual([{}, 1]);
    cluster.nowMs = 30_000;
    await cluster.held();
    await Promise.resolve();
    expect(cluster.lists).toBe(2);
  });

  it('are unknown where the API may not list pods', async () => {
    const cluster = new Cluster();
    cluster.pods = new Error('forbidden');
    expect([await cluster.held(), await cluster.held(), cluster.lists]).toEqual([undefined, undefined, 1]);
  });
});
