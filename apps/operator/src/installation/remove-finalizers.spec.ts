import { FINALIZER, POD_FINALIZER } from '@coxswain/api-types';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { FakeClock } from '@coxswain/kube/testing';
import { removeFinalizers } from './remove-finalizers.ts';
import { refuseWhileLed } from './refuse-while-led.ts';

const object = (kind: string, name: string, finalizers: readonly string[]): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'research', uid: `uid-of-${name}`, finalizers },
});

/** A cluster of these objects in pages of two, which takes patches by position. */
function aCluster(objects: KubeObject[]) {
  const patched: string[] = [];
  const client = {
    list: async (path: string, { continue: from = '0' }: { readonly continue?: string } = {}) => {
      const all = objects.filter(({ kind }) => path.endsWith(kind === 'Pod' ? '/pods' : '/trainingjobs'));
      const end = Number(from) + 2;
      const items = all.slice(Number(from), end);
      return { metadata: { resourceVersion: '1', continue: end < all.length ? String(end) : '' }, items };
    },
    patch: async (path: string, patch: unknown) => {
      const name = path.split('/').at(-1) ?? '';
      if (name === 'gone') throw new KubeApiError({ status: 404, reason: 'NotFound', message: 'gone' });
      const [, test] = patch as readonly { readonly path: string }[];
      patched.push(`${name} ${test?.path}`);
    },
  };
  const remove = (name: string): void =>
    void objects.splice(
      objects.findIndex(({ metadata }) => metadata.name === name),
      1,
    );
  return { objects, patched, client: client as never as Parameters<typeof removeFinalizers>[0]['client'], remove };
}

describe('letting go of everything that an operator holds', () => {
  it('takes our finalizers from pods and jobs, whatever their labels, leaves those of others, and looks until nothing is held', async () => {
    const cluster = aCluster([
      object('Pod', 'a', [POD_FINALIZER]),
      object('Pod', 'free', []),
      object('Pod', 'b', ['example.com/other', POD_FINALIZER]),
      object('Pod', 'gone', [POD_FINALIZER]),
      object('TrainingJob', 'job', [FINALIZER]),
      object('TrainingJob', 'others', ['example.com/other']),
    ]);
    let rounds = 0;
    const done = await removeFinalizers({
      client: cluster.client,
      pause: async () => {
        rounds += 1;
        if (rounds === 1) for (const name of ['a', 'b', 'gone', 'job']) cluster.remove(name);
        // Made by an operator a moment before it ended.
        if (rounds === 2) cluster.objects.push(object('Pod', 'late', [POD_FINALIZER]));
        if (rounds === 3) cluster.remove('late');
      },
    });
    expect(cluster.patched).toEqual([
      'a /metadata/finalizers/0',
      'b /metadata/finalizers/1',
      'job /metadata/finalizers/0',
      'late /metadata/finalizers/0',
    ]);
    // One was gone already.
    expect(done).toEqual({ pods: 3, jobs: 1 });
  });

  it('lets go of pods where the definition of jobs is gone already', async () => {
    const cluster = aCluster([object('Pod', 'a', [POD_FINALIZER])]);
    const client: typeof cluster.client = {
      ...cluster.client,
      list: async (path, ...rest) => {
        if (path.endsWith('/pods')) return cluster.client.list(path, ...rest);
        const message = 'the server could not find the requested resource';
        throw new KubeApiError({ status: 404, reason: 'NotFound', message });
      },
    };
    const done = await removeFinalizers({ client, pause: async () => cluster.objects.splice(0) as never });
    expect(done).toEqual({ pods: 1, jobs: 0 });
  });

  it('goes on where the server refuses one object, and ends with a sentence when five looks in a row have taken nothing', async () => {
    const cluster = aCluster([
      object('Pod', 'refused', [POD_FINALIZER]),
      object('Pod', 'a', [POD_FINALIZER]),
      object('TrainingJob', 'job', [FINALIZER]),
    ]);
    const forbidden = new KubeApiError({ status: 403, reason: 'Forbidden', message: 'a policy says no' });
    let pauses = 0;
    const client: typeof cluster.client = {
      ...cluster.client,
      patch: async (path, ...rest) => {
        if (path.endsWith('/refused')) throw forbidden;
        return cluster.client.patch(path, ...rest);
      },
    };
    const pause = async (): Promise<void> => {
      pauses += 1;
      if (pauses === 1) for (const name of ['a', 'job']) cluster.remove(name);
    };
    await expect(removeFinalizers({ client, pause })).rejects.toMatchObject({
      message: expect.stringMatching(
        /^removed finalizers from 1 pods and 1 jobs; 1 more still have one after 5 passes .* \/api\/v1\/namespaces\/research\/pods\/refused: a policy says no$/,
      ),
      cause: forbidden,
    });
    expect(cluster.patched).toHaveLength(2);
    expect(pauses).toBe(5);
  });
});

const PATH = '/apis/coordination.k8s.io/v1/namespaces/coxswain/leases/operator';

/** A Lease of 8 s that is what `at` says of the seconds passed; undefined where there is none. */
function aWatch(at: (second: number) => { readonly holder: string; readonly renewed: string } | undefined) {
  const clock = new FakeClock();
  const get = async (path: string): Promise<unknown> => {
    const now = at(clock.monotonicMs() / 1000);
    if (path !== PATH || now === undefined)
      throw new KubeApiError({ status: 404, reason: 'NotFound', message: 'not found' });
    return { spec: { holderIdentity: now.holder, renewTime: now.renewed, leaseDurationSeconds: 8 } };
  };
  const client = { get } as never as Parameters<typeof refuseWhileLed>[0]['client'];
  return { clock, seen: refuseWhileLed({ client, clock, lease: { namespace: 'coxswain', name: 'operator' } }) };
}

describe('the watch of the Lease before anything is let go of', () => {
  it.each([
    ['there is none', () => undefined],
    ['nobody holds it', () => ({ holder: '', renewed: '1' })],
  ])('ends at once where %s', async (_what, at) => {
    await expect(aWatch(at).seen).resolves.toBeUndefined();
  });

  it.each([
    ['its holder is gone and renews it no more', () => ({ holder: 'a', renewed: '1' })],
    ['its holder is ending and gives it back', (second: number) => ({ holder: second < 3 ? 'a' : '', renewed: '1' })],
    [
      'its holder renews it once more and then has no right to',
      (second: number) => ({ holder: 'a', renewed: second < 3 ? '1' : '2' }),
    ],
    ['it is deleted', (second: number) => (second < 3 ? { holder: 'a', renewed: '1' } : undefined)],
  ])('lets go where %s', async (_what, at) => {
    const { clock, seen } = aWatch(at);
    await clock.advance(20_000);
    await expect(seen).resolves.toBeUndefined();
  });

  it('refuses, with who leads, where it is renewed on and on: an operator would hold again what is let go of', async () => {
    const { clock, seen } = aWatch((second) => ({ holder: 'operator-1', renewed: String(second) }));
    const refused = expect(seen).rejects.toThrow(
      'operator-1 still leads: it renewed the Lease coxswain/operator within the last 10 s.',
    );
    await clock.advance(20_000);
    await refused;
  });
});
