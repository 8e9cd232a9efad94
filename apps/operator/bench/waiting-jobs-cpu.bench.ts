/**
 * What does a job that waits cost, without HTTP and a cluster? Run: `node apps/operator/bench/waiting-jobs-cpu.bench.ts`.
 *
 * 2,000 jobs want two whole nodes each, of 10,240 nodes that strangers' pods fill. The operator's cache, store and reconciler are the real ones.
 */
import { FINALIZER, GPU_RESOURCE, type TrainingJob, type TrainingJobStatus } from '@coxswain/api-types';
import { keyOf, systemClock, type KubeClient, type KubeObject } from '@coxswain/kube';
import { toCachedNode } from '../src/cluster/cached-node.ts';
import { toCachedPod } from '../src/cluster/cached-pod.ts';
import { createClusterScheduler } from '../src/training-job/cluster-scheduler.ts';
import { aCache, aReconciler } from './real-parts.ts';

const NODES = 10_240;
const JOBS = 2_000;

let version = 1;
const next = (): string => String((version += 1));
const cache = aCache();
const scheduler = createClusterScheduler(cache, systemClock);
const status = async (_path: string, body: unknown): Promise<unknown> => {
  const { metadata, status: written } = body as TrainingJob & { status: TrainingJobStatus };
  const job = cache.jobs.cached.get(`${metadata.namespace}/${metadata.name}`);
  const changed = { ...job, status: written, metadata: { ...job?.metadata, resourceVersion: next() } };
  cache.jobs.cached.upsert(changed as TrainingJob & KubeObject);
  return changed;
};
const reconciler = aReconciler({
  client: { replace: status } as unknown as KubeClient,
  cache,
  scheduler,
  clock: systemClock,
});

for (let index = 0; index < NODES; index += 1) {
  const metadata = { name: `node-${index}`, uid: `uid-of-node-${index}`, resourceVersion: next() };
  const ready = { allocatable: { [GPU_RESOURCE]: '8' }, conditions: [{ type: 'Ready', status: 'True' }] };
  cache.nodes.upsert(toCachedNode({ apiVersion: 'v1', kind: 'Node', metadata, status: ready } as KubeObject));
  cache.pods.cached.upsert(strangersPod(index));
}
for (let index = 0; index < JOBS; index += 1) {
  const metadata = {
    name: `job-${index}`,
    namespace: `tenant-${index % 4}`,
    uid: `uid-of-job-${index}`,
    generation: 1,
    resourceVersion: next(),
    finalizers: [FINALIZER],
  };
  cache.jobs.cached.upsert({
    apiVersion: 'training.coxswain.dev/v1alpha1',
    kind: 'TrainingJob',
    metadata,
    spec: {
      engine: { name: 'command', image: 'example/image', command: ['train'] },
      layout: { tensorParallelDegree: 8, dataParallelDegree: 2 },
      resources: { gpusPerNode: 8 },
    },
    // A job with our finalizer and no status counts as one that lost its status, and would be read live.
    status: { epoch: 0, restarts: { total: 0, charged: 0 } },
  } as unknown as TrainingJob & KubeObject);
}

await lookAtAll('first look (status is written)');
await lookAtAll('second look');
await lookAtAll('third look');
const before = process.cpuUsage();
for (let turn = 0; turn < 1_000; turn += 1) {
  cache.pods.cached.remove(strangersPod(0));
  scheduler.offer('gpus');
  cache.pods.cached.upsert(strangersPod(0));
}
console.log(
  `a pod that goes, all asked whether they may fit, and comes back: ${(cpuMs(before) / 1_000).toFixed(2)} ms`,
);

async function lookAtAll(what: string): Promise<void> {
  const start = process.cpuUsage();
  for (const job of cache.jobs.cached.list()) await reconciler.reconcile(keyOf(job));
  console.log(`${what}: ${(cpuMs(start) / JOBS).toFixed(2)} ms of CPU a job`);
}

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}

function strangersPod(index: number): ReturnType<typeof toCachedPod> {
  const resources = { limits: { [GPU_RESOURCE]: '8' } };
  return toCachedPod({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `on-${index}`, namespace: 'strangers', uid: `uid-of-on-${index}`, resourceVersion: next() },
    spec: { nodeName: `node-${index}`, containers: [{ name: 'busy', resources }] },
    status: { phase: 'Running' },
  } as KubeObject);
}
