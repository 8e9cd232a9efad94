import { DRAIN_REQUESTS } from '@coxswain/api-types';
import { KubeApiError, type KubeObject, resourcePath } from '@coxswain/kube';
import { FakeKubeApi } from '@coxswain/kube/testing';
import { podsPath } from '../cluster/paths.ts';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { createClusterScheduler } from '../training-job/cluster-scheduler.ts';
import { DrainController } from './drain-controller.ts';

const NAMESPACE = 'nvsentinel';

function failure(status: number, reason: string, message: string): KubeApiError {
  return new KubeApiError({ status, reason, message });
}

class World {
  readonly script = new CacheScript();
  readonly api = new FakeKubeApi();
  readonly woken: string[] = [];
  readonly problems: string[] = [];
  readonly controller = new DrainController({
    namespace: NAMESPACE,
    client: this.api,
    cache: this.script.cache,
    clock: this.script.clock,
    wake: (key) => this.woken.push(key),
    onProblem: (_problem, what) => this.problems.push(what),
  });

  /** A pod of the job, or of no job, which the server and the cache know. */
  async pod(name: string, job?: ReturnType<CacheScript['job']>): Promise<void> {
    const pod = this.script.pod(name, { nodeName: 'gpu-7', ...(job === undefined ? {} : { job }) });
    await this.api.create(podsPath({ namespace: 'research' }), pod);
  }

  request(name: string, pods: readonly string[], node: unknown = 'gpu-7', namespace = NAMESPACE): Promise<unknown> {
    return this.api.create(resourcePath({ ...DRAIN_REQUESTS, namespace }), {
      apiVersion: 'nvsentinel.nvidia.com/v1alpha1',
      kind: 'DrainRequest',
      metadata: { name, namespace },
      spec: { nodeName: node, podsToDrain: { research: pods } },
    });
  }

  async podGone(name: string): Promise<void> {
    const [pod] = this.api
      .objects<KubeObject>(podsPath({ namespace: 'research' }))
      .filter(({ metadata }) => metadata.name === name);
    await this.api.delete(podsPath({ namespace: 'research', name }), { uid: pod?.metadata.uid ?? '' });
  }

  states(name: string): readonly string[] {
    const found = this.api
      .objects<KubeObject & { readonly status?: { readonly conditions: readonly { type: string; status: string }[] } }>(
        this.#collection(),
      )
      .find(({ metadata }) => metadata.name === name);
    return (found?.status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`);
  }

  says(namespace = 'research'): boolean {
    return this.script.cache.drains.noticesOf('gpu-7', namespace).length > 0;
  }

  #collection(): string {
    return resourcePath({ ...DRAIN_REQUESTS, namespace: NAMESPACE });
  }
}

describe('the operator answers a DrainRequest', () => {
  it('asks the jobs of the node to leave, and completes it when their pods are gone', async () => {
    const world = new World();
    await world.pod('gpt-1-0', world.script.job('gpt'));
    await world.request('one', ['gpt-1-0']);
    await world.controller.reconcile();
    expect([world.states('one'), world.woken, world.says(), world.says('vision')]).toEqual([
      ['Draining=True'],
      ['research/gpt'],
      true,
      false,
    ]);
    await world.podGone('gpt-1-0');
    await world.controller.reconcile();
    await world.controller.reconcile();
    expect([world.states('one'), world.says()]).toEqual([['Draining=False', 'DrainComplete=True'], false]);
    expect(world.api.writes.filter(({ verb }) => verb === 'patch')).toHaveLength(2);
  });

  it('and another one for the same node, and none for a node that it does not know or that has another shape', async () => {
    const world = new World();
    await world.pod('gpt-1-0', world.script.job('gpt'));
    await world.pod('notebook');
    await world.request('one', ['gpt-1-0']);
    await world.request('two', ['notebook']);
    await world.request('odd', ['gpt-1-0'], 7);
    await world.request('unknown', ['gpt-1-1'], 'gpu-8');
    await world.controller.reconcile();
    expect([world.states('one'), world.states('two'), world.states('odd')]).toEqual([
      ['Draining=True'],
      ['Draining=True'],
      [],
    ]);
    await world.podGone('gpt-1-0');
    await world.controller.reconcile();
    expect([world.states('one').at(-1), world.states('two')]).toEqual(['DrainComplete=True', ['Draining=True']]);
    expect(world.problems).toEqual([]);
  });

  it('and places no gang on the node meanwhile, even if it is not cordoned', async () => {
    const world = new World();
    world.script.node('gpu-7');
    const scheduler = createClusterScheduler(world.script.cache, world.script.clock);
    const takesGangs = (): boolean => scheduler.capacityFor('').fabric.nodes.some(({ usable }) => usable);
    await world.pod('notebook');
    expect(takesGangs()).toBe(true);
    await world.request('one', ['notebook']);
    await world.controller.reconcile();
    expect(takesGangs()).toBe(false);
    await world.podGone('notebook');
    await world.controller.reconcile();
    await world.controller.reconcile();
    expect(takesGangs()).toBe(true);
  });

  it('of one namespace alone: a tenant that makes one in its own has no gang moved', async () => {
    const world = new World();
    await world.pod('gpt-1-0', world.script.job('gpt'));
    await world.request('foreign', ['gpt-1-0'], 'gpu-7', 'vision');
    await world.controller.reconcile();
    expect([world.says(), world.woken]).toEqual([false, []]);
  });

  it('says once that the kind does not exist', async () => {
    const world = new World();
    world.api.interfere = () => {
      throw failure(404, 'NotFound', '404 page not found');
    };
    // The server may have started together with this process.
    await expect(world.controller.reconcile()).rejects.toThrow('404 page not found');
    world.script.clock.stall(60_000);
    await world.controller.reconcile();
    await world.controller.reconcile();
    expect(world.problems).toHaveLength(1);
  });

  it('keeps what was asked while a server that has just started does not know the kind yet', async () => {
    const world = new World();
    await world.pod('gpt-1-0', world.script.job('gpt'));
    await world.request('one', ['gpt-1-0']);
    await world.controller.reconcile();
    world.api.interfere = () => {
      throw failure(404, 'NotFound', '404 page not found');
    };
    world.script.clock.stall(59_000);
    await expect(world.controller.reconcile()).rejects.toThrow('404 page not found');
    expect(world.says()).toBe(true);
    world.script.clock.stall(2_000);
    await world.controller.reconcile();
    expect(world.says()).toBe(false);
  });

  it('keeps what was asked while the server does not answer, and leaves a request that was deleted meanwhile', async () => {
    const world = new World();
    await world.pod('gpt-1-0', world.script.job('gpt'));
    await world.request('one', ['gpt-1-0']);
    world.api.interfere = ({ verb }) => {
      if (verb === 'patch') throw failure(404, 'NotFound', 'gone');
    };
    await world.controller.reconcile();
    expect(world.problems).toEqual([]);
    world.api.interfere = () => {
      throw failure(503, 'ServiceUnavailable', 'away');
    };
    await expect(world.controller.reconcile()).rejects.toThrow('away');
    expect(world.says()).toBe(true);
  });
});
