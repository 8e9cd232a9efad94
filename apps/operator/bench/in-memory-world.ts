import { GPU_RESOURCE, type TrainingJob, type TrainingJobStatus } from '@coxswain/api-types';
import { systemClock, WorkQueue, type KubeClient, type KubeObject } from '@coxswain/kube';
import type { ClusterScheduler } from '@coxswain/scheduling';
import type { ClusterCache } from '../src/cluster/cluster-cache.ts';
import { toCachedNode } from '../src/cluster/cached-node.ts';
import { toCachedPod } from '../src/cluster/cached-pod.ts';
import { createClusterScheduler } from '../src/training-job/cluster-scheduler.ts';
import type { TrainingJobReconciler } from '../src/training-job/training-job.reconciler.ts';
import { Watches } from '../src/training-job/watches.ts';
import { aCache, aReconciler } from './real-parts.ts';

type Json = Record<string, unknown>;

/** An API server that answers at once, and tells the cache in the same moment. */
export class InMemoryWorld {
  looks = 0;
  readonly #pods = new Map<string, KubeObject & Json>();
  readonly #cache = aCache();
  readonly scheduler: ClusterScheduler;
  readonly #reconciler: TrainingJobReconciler;
  readonly #size: number;
  #queue: WorkQueue | undefined;
  #version = 1;

  constructor(pods: number) {
    this.#size = pods;
    const scheduler = createClusterScheduler(this.#cache, systemClock);
    this.scheduler = scheduler;
    this.#reconciler = aReconciler({ client: this.#client(), cache: this.#cache, scheduler });
    new Watches({
      cache: this.#cache,
      clock: systemClock,
      podNewsIntervalMs: 200,
      scheduler,
      wake: (key, priority) => this.#queue?.add(key, priority),
      onJobDeleted: () => undefined,
    });
    for (let index = 0; index < pods; index += 1) this.#cache.nodes.upsert(toCachedNode(this.#node(index)));
  }

  get cache(): ClusterCache {
    return this.#cache;
  }

  run(signal: AbortSignal): Promise<unknown> {
    this.#queue = new WorkQueue({
      clock: systemClock,
      random: Math.random,
      onError: ({ error }) => console.error(error),
    });
    const reconcile = (key: string): ReturnType<TrainingJobReconciler['reconcile']> => {
      this.looks += 1;
      return this.#reconciler.reconcile(key);
    };
    return this.#queue.run({ workers: 8, reconcile, signal });
  }

  reconcile(key: string): ReturnType<TrainingJobReconciler['reconcile']> {
    return this.#reconciler.reconcile(key);
  }

  submit(): void {
    const metadata = {
      name: 'gang',
      namespace: 'bench',
      uid: 'aaaaaaaa-uid',
      generation: 1,
      resourceVersion: this.#next(),
    };
    this.#cache.jobs.cached.upsert({
      apiVersion: 'training.coxswain.dev/v1alpha1',
      kind: 'TrainingJob',
      metadata,
      spec: {
        engine: { name: 'command', image: 'example/image', command: ['train'] },
        layout: { tensorParallelDegree: 8, dataParallelDegree: this.#size },
        resources: { gpusPerNode: 8 },
      },
    } as unknown as TrainingJob & KubeObject);
  }

  job(): TrainingJob {
    const [job] = this.#cache.jobs.cached.list();
    if (job === undefined) throw new Error('nothing was submitted');
    return job;
  }

  stage(): string | undefined {
    return this.job().status?.attempts?.at(-1)?.stage;
  }

  gated(): number {
    return [...this.#pods.values()].filter((pod) => ((pod['spec'] as Json)['schedulingGates'] as unknown[]).length > 0)
      .length;
  }

  podNames(): readonly string[] {
    return [...this.#pods.keys()];
  }

  change(name: string, to: 'bound' | 'initialized' | 'starting' | 'running'): void {
    const pod = this.#pods.get(name);
    if (pod === undefined) throw new Error(`there is no pod ${name}`);
    const state =
      to === 'running'
        ? { running: { startedAt: '2026-01-01T00:00:00Z' } }
        : { waiting: { reason: 'PodInitializing' } };
    const isLate = to === 'starting' || to === 'running';
    const status = {
      phase: to === 'running' ? 'Running' : 'Pending',
      conditions: [
        { type: 'PodScheduled', status: 'True' },
        ...(to === 'bound' ? [] : [{ type: 'Initialized', status: 'True' }]),
      ],
      ...(isLate ? { containerStatuses: [{ name: 'trainer', state }] } : {}),
    };
    this.#put({ ...pod, spec: { ...(pod['spec'] as Json), nodeName: `node-${name.split('-').at(-1)}` }, status });
  }

  #client(): KubeClient {
    const unused = (): never => {
      throw new Error('not called here');
    };
    return {
      get: unused,
      list: unused,
      create: async (_path, body, options) =>
        (options?.dryRun === true ? body : this.#put({ ...(body as KubeObject & Json) })) as never,
      apply: async (_path, body) => this.#writeStatus(body as KubeObject & Json) as never,
      replace: async (_path, body) => this.#writeStatus(body as unknown as KubeObject & Json) as never,
      patch: async (path, body) => this.#patch(path, body) as never,
      delete: unused,
      version: unused,
      requestStream: unused,
      close: async () => undefined,
    };
  }

  #patch(path: string, body: unknown): unknown {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (Array.isArray(body)) {
      const pod = this.#pods.get(name);
      return this.#put({ ...pod, spec: { ...(pod?.['spec'] as Json), schedulingGates: [] } } as KubeObject & Json);
    }
    const { metadata } = body as { metadata: Json };
    const changed = { ...this.job(), metadata: { ...this.job().metadata, ...metadata, resourceVersion: this.#next() } };
    this.#cache.jobs.cached.upsert(changed as TrainingJob & KubeObject);
    return structuredClone(changed);
  }

  #writeStatus(body: KubeObject & Json): unknown {
    const { namespace, name } = body.metadata;
    const job = this.#cache.jobs.cached.get(`${namespace}/${name}`) ?? this.job();
    const status = body['status'] as TrainingJobStatus;
    const changed = { ...job, status, metadata: { ...job.metadata, resourceVersion: this.#next() } };
    this.#cache.jobs.cached.upsert(changed as TrainingJob & KubeObject);
    return structuredClone(changed);
  }

  #put(object: KubeObject & Json): KubeObject {
    const uid = object.metadata.uid ?? `uid-of-${object.metadata.name}`;
    const stored = { ...object, metadata: { ...object.metadata, uid, resourceVersion: this.#next() } };
    if (object.kind === 'Pod') {
      this.#pods.set(object.metadata.name, stored);
      this.#cache.pods.cached.upsert(toCachedPod(stored));
    } else this.#cache.placements.cached.upsert(stored as never);
    return stored;
  }

  #node(index: number): KubeObject {
    return {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node-${index}`, uid: `uid-of-node-${index}`, resourceVersion: this.#next() },
      status: { allocatable: { [GPU_RESOURCE]: '8' }, conditions: [{ type: 'Ready', status: 'True' }] },
    } as KubeObject;
  }

  #next(): string {
    return String((this.#version += 1));
  }
}
