import { LABELS, POD_FINALIZER, type TrainingJob } from '@coxswain/api-types';
import { KubeApiError, type KubeClient, type KubeObject } from '@coxswain/kube';
import { toCachedPod } from '../cluster/cached-pod.ts';
import { childLabels } from '../cluster/cluster-cache.ts';
import { podsPath, trainingJobsPath } from '../cluster/paths.ts';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { ownedBy } from './owner.ts';
import { PodSweep } from './pod-sweep.ts';

const EARLIER = '2026-01-01T00:00:00Z';
const answered = (status: number, reason: string): KubeApiError =>
  new KubeApiError({ status, reason, message: reason });

/** A cache with one job and one pod of it, a server that holds the same, and what was asked of it. */
function aWorld() {
  const script = new CacheScript();
  const job = script.job('tiny');
  const server = new Map<string, KubeObject>([[trainingJobsPath({ namespace: 'research', name: 'tiny' }), job]]);
  const asked: string[] = [];
  const errors: unknown[] = [];
  const client = {
    get: async (path: string) => {
      asked.push(`get ${path.split('/').slice(-2).join('/')}`);
      const found = server.get(path);
      if (found === undefined) throw answered(404, 'NotFound');
      return found;
    },
    patch: async (path: string, body: unknown) =>
      void asked.push(`patch ${path.split('/').at(-1)} ${JSON.stringify(body)}`),
  } as unknown as Pick<KubeClient, 'get' | 'patch'>;
  const pod = (name: string, metadata: Partial<KubeObject['metadata']> = {}): void => {
    const raw = aPod(job, { name, ...metadata });
    script.cache.pods.cached.upsert(toCachedPod(raw));
    server.set(podsPath({ namespace: 'research', name }), raw);
  };
  const sweep = new PodSweep({
    client,
    cache: script.cache,
    clock: script.clock,
    onError: (error) => errors.push(error),
  });
  return { script, job, server, asked, errors, client, pod, sweep };
}

function aPod(job: TrainingJob, metadata: Partial<KubeObject['metadata']> & { readonly name: string }): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: 'research',
      uid: `uid-of-${metadata.name}`,
      resourceVersion: '5',
      labels: childLabels(job, 1),
      ownerReferences: [ownedBy(job)],
      finalizers: ['example.com/other', POD_FINALIZER],
      ...metadata,
    },
  };
}

const patchOf = (name: string): string =>
  `patch ${name} ${JSON.stringify([
    { op: 'test', path: '/metadata/uid', value: `uid-of-${name}` },
    { op: 'test', path: '/metadata/finalizers/1', value: POD_FINALIZER },
    { op: 'remove', path: '/metadata/finalizers/1' },
  ])}`;

describe('the sweep of pods that carry our finalizer', () => {
  it('asks nothing about pods whose job is there', async () => {
    const { sweep, pod, asked } = aWorld();
    pod('p');
    await sweep.sweep();
    expect(asked).toEqual([]);
  });

  it('lets go of those whose job is gone, which it reads live, once for all of them', async () => {
    const { script, job, server, sweep, pod, asked, errors } = aWorld();
    pod('p');
    pod('q');
    script.jobDeleted(job);
    server.delete(trainingJobsPath({ namespace: 'research', name: 'tiny' }));
    await sweep.sweep();
    expect(asked).toEqual(['get pods/p', 'get trainingjobs/tiny', patchOf('p'), 'get pods/q', patchOf('q')]);
    expect(errors).toEqual([]);
  });

  it('lets go of those whose job’s name another job has taken', async () => {
    const { script, job, server, sweep, pod, asked } = aWorld();
    pod('p');
    script.jobDeleted(job);
    const successor = { ...job, metadata: { ...job.metadata, uid: 'another' } };
    server.set(trainingJobsPath({ namespace: 'research', name: 'tiny' }), successor);
    await sweep.sweep();
    expect(asked).toContain(patchOf('p'));
  });

  it('leaves them alone when the job is there after all: only the cache had not seen it', async () => {
    const { script, job, sweep, pod, asked } = aWorld();
    pod('p');
    script.jobDeleted(job);
    await sweep.sweep();
    expect(asked).toEqual(['get pods/p', 'get trainingjobs/tiny']);
  });

  it.each([
    ['that was deleted goes', EARLIER, true],
    ['that lives stays', undefined, false],
  ])('a pod that is its job’s no more and %s', async (_what, deletionTimestamp, goes) => {
    const { sweep, pod, asked } = aWorld();
    pod('p', { ownerReferences: [], ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) });
    await sweep.sweep();
    expect(asked.includes(patchOf('p'))).toBe(goes);
  });

  it.each([
    ['whose labels somebody took away', { labels: {} }],
    ['whose owner somebody took away', { ownerReferences: [] }],
    ['that somebody took labels and owner from', { labels: {}, ownerReferences: [] }],
  ])(
    'a deleted pod %s goes when its job is gone, and one that lives stays while it has a job',
    async (_what, metadata) => {
      const { script, job, server, sweep, pod, asked } = aWorld();
      pod('deleted', { ...metadata, deletionTimestamp: EARLIER });
      pod('living', metadata);
      await sweep.sweep();
      expect(asked.filter((what) => what.startsWith('patch living'))).toEqual([]);
      script.jobDeleted(job);
      server.delete(trainingJobsPath({ namespace: 'research', name: 'tiny' }));
      await sweep.sweep();
      expect(asked).toContain(patchOf('deleted'));
    },
  );

  it('asks nothing, sweep after sweep, about a pod that lives and names no job: there is nobody to ask for', async () => {
    const { sweep, pod, asked } = aWorld();
    const labels = { [LABELS.jobUid]: 'made-up' };
    pod('living', { labels, ownerReferences: [] });
    pod('nameless', { labels: { ...labels, [LABELS.jobName]: '' }, ownerReferences: [] });
    pod('deleted', { labels, ownerReferences: [], deletionTimestamp: EARLIER });
    await sweep.sweep();
    expect(asked).toEqual(['get pods/deleted', patchOf('deleted')]);
  });

  it('looks at 200 pods at a time, at those first that are being deleted, and at each before any again', async () => {
    const { script, job, server, sweep, pod, asked, client } = aWorld();
    const numbers = Array.from({ length: 250 }, (_, number) => number);
    for (const number of numbers) pod(`p-${number}`, number < 245 ? {} : { deletionTimestamp: EARLIER });
    script.jobDeleted(job);
    server.delete(trainingJobsPath({ namespace: 'research', name: 'tiny' }));
    client.patch = async () => Promise.reject(answered(403, 'Forbidden'));
    const swept = async (): Promise<readonly string[]> => {
      await sweep.sweep();
      return asked.splice(0).filter((what) => what.startsWith('get pods/'));
    };
    const first = await swept();
    expect(first).toHaveLength(200);
    expect(first.slice(0, 5)).toEqual([245, 246, 247, 248, 249].map((number) => `get pods/p-${number}`));
    const second = await swept();
    expect(new Set([...first, ...second.slice(0, 50)]).size).toBe(250);
    expect(second).toHaveLength(200);
    // And again from the beginning: none is given up.
    expect(second.slice(50, 55)).toEqual(first.slice(0, 5));
  });

  it('goes on with the next when one is gone meanwhile, and tells of what it cannot do', async () => {
    const { script, job, server, sweep, pod, asked, errors, client } = aWorld();
    for (const name of ['p', 'q', 'r']) pod(name);
    script.jobDeleted(job);
    server.delete(trainingJobsPath({ namespace: 'research', name: 'tiny' }));
    server.delete(podsPath({ namespace: 'research', name: 'p' }));
    const { patch } = client;
    const refusal = answered(403, 'Forbidden');
    client.patch = async (path, ...rest) => {
      if (path.endsWith('/q')) throw refusal;
      return patch(path, ...rest);
    };
    await sweep.sweep();
    expect(asked).toContain(patchOf('r'));
    expect(errors).toEqual([refusal]);
  });
});
