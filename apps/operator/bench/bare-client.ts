import {
  SCHEDULING_GATE,
  specOfEpoch,
  TrainingJobSpec,
  type Placement,
  type TrainingJob,
  podName,
} from '@coxswain/api-types';
import { renderEngine } from '@coxswain/engines';
import { isNotFound, type KubeObject } from '@coxswain/kube';
import { waitFor } from '@coxswain/local-cluster';
import { toPod } from '../src/training-job/pod-manifest.ts';
import { CONCURRENCY, type BenchCluster } from './bench-cluster.ts';

/** What was made for the gang of the job's first epoch, pod by pod, as the operator sends it. */
export function manifestsOf(job: TrainingJob, placement: Placement): readonly Record<string, unknown>[] {
  const spec = specOfEpoch(TrainingJobSpec.parse(job.spec), placement.spec);
  const engine = renderEngine(spec);
  if (engine.kind === 'refused') throw new Error(engine.why);
  return placement.spec.nodes.map((_, podIndex) =>
    toPod({ job: { ...job, spec }, placement }, podIndex, {
      launcherImage: 'coxswain/launcher:dev',
      reportUrls: ['https://127.0.0.1:65535'],
      reportCaPem: CERTIFICATE_SIZED,
      user: undefined,
      engine,
      name: podName(job.metadata, { epoch: placement.spec.epoch, podIndex }),
    }),
  );
}

/** As long as the certificate of an authority on P-256, which every pod is given. */
const CERTIFICATE_SIZED = `-----BEGIN CERTIFICATE-----\n${'A'.repeat(600)}\n-----END CERTIFICATE-----\n`;

/** Makes the pods and lifts their gates, as fast as calls go, and knows nothing else. Owners are left out: nobody is to collect the pods. */
export async function runBareGang(
  cluster: BenchCluster,
  namespace: string,
  manifests: readonly Record<string, unknown>[],
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const bodies = manifests.map((manifest) => {
    const { ownerReferences, ...metadata } = manifest['metadata'] as Record<string, unknown>;
    void ownerReferences;
    return { ...manifest, metadata: { ...metadata, namespace } };
  });
  const names = await inTurns(bodies, async (body) => {
    const { metadata } = await cluster.client.create<{ metadata: { name: string; uid: string } }>(path, body);
    return metadata;
  });
  const gate = '/spec/schedulingGates/0';
  await inTurns(names, ({ name, uid }) =>
    cluster.client.patch(
      `${path}/${name}`,
      [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'test', path: `${gate}/name`, value: SCHEDULING_GATE },
        { op: 'remove', path: gate },
      ],
      { type: 'json' },
    ),
  );
}

/**
 * Deletes every job and every pod of the namespace and waits until none is left. Finalizers are taken off: how the operator ends a gang is not
 * what is measured here, and takes much longer.
 */
export async function clearNamespace(cluster: BenchCluster, namespace: string): Promise<void> {
  for (const path of [
    `/apis/training.coxswain.dev/v1alpha1/namespaces/${namespace}/trainingjobs`,
    `/api/v1/namespaces/${namespace}/pods`,
  ]) {
    const { items } = await cluster.client.list(path);
    // One by one: a collection is deleted by a single worker of the API server, and a thousand pods then take longer than a call may.
    await inTurns(items, ({ metadata }) => remove(cluster, `${path}/${metadata.name}`, metadata));
    await isEmpty(cluster, path);
  }
}

async function remove(
  cluster: BenchCluster,
  path: string,
  { uid = '', finalizers = [] }: KubeObject['metadata'],
): Promise<void> {
  const gone = (error: unknown): void => {
    if (!isNotFound(error)) throw error;
  };
  // In this order: of a job that is not being deleted the operator would keep its finalizer.
  await cluster.client.delete(path, { uid, gracePeriodSeconds: 0 }).catch(gone);
  if (finalizers.length === 0) return;
  await cluster.client.patch(path, { metadata: { finalizers: null } }, { type: 'merge' }).catch(gone);
}

async function isEmpty(cluster: BenchCluster, path: string): Promise<void> {
  const look = async (): Promise<boolean> => {
    const { items } = await cluster.plane.admin.json<{ items: readonly unknown[] }>({
      method: 'GET',
      path: `${path}?limit=1`,
    });
    return items.length === 0;
  };
  await waitFor(look, { what: `${path} to be empty`, deadlineMs: 300_000, intervalMs: 250 });
}

/** `act` on every item, as many at once as the operator makes calls. */
export async function inTurns<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of entries) results[index] = await act(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return results;
}
