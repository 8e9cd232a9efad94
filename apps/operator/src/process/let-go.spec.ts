import { FINALIZER, POD_FINALIZER } from '@coxswain/api-types';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { letGo } from './let-go.ts';

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
  return { objects, patched, client: client as never as Parameters<typeof letGo>[0]['client'], remove };
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
    let looks = 0;
    const done = await letGo({
      client: cluster.client,
      pause: async () => {
        looks += 1;
        if (looks === 1) for (const name of ['a', 'b', 'gone', 'job']) cluster.remove(name);
        // Made by an operator a moment before it ended.
        if (looks === 2) cluster.objects.push(object('Pod', 'late', [POD_FINALIZER]));
        if (looks === 3) cluster.remove('late');
      },
    });
    expect(cluster.patched).toEqual([
      'a /metadata/finalizers/0',
      'b /metadata/finalizers/1',
      'job /metadata/finalizers/0',
      'late /metadata/finalizers/0',
    ]);
    expect(done).toEqual({ pods: 4, jobs: 1 });
  });

  it('ends with the error where it may not', async () => {
    const cluster = aCluster([object('Pod', 'a', [POD_FINALIZER])]);
    const forbidden = new KubeApiError({ status: 403, reason: 'Forbidden', message: 'no' });
    const client = { ...cluster.client, patch: async () => Promise.reject(forbidden) };
    await expect(letGo({ client, pause: async () => undefined })).rejects.toBe(forbidden);
  });
});
