import { setImmediate as nextTurn } from 'node:timers/promises';
import { GPU_RESOURCE, type TrainingJob, type TrainingJobStatus } from '@coxswain/api-types';
import { type Clock, KubeApiError, systemClock, WorkQueue, type KubeClient, type KubeObject } from '@coxswain/kube';
import type { ClusterScheduler, NodeQuestion, SchedulerView } from '@coxswain/scheduling';
import type { ClusterCache } from '../src/cluster/cluster-cache.ts';
import { BY_UID } from '../src/cluster/indexes.ts';
import { toCachedNode } from '../src/cluster/cached-node.ts';
import { toCachedPod } from '../src/cluster/cached-pod.ts';
import { createClusterScheduler } from '../src/training-job/cluster-scheduler.ts';
import type { NodeSearches } from '../src/training-job/node-searches.ts';
import type { TrainingJobReconciler } from '../src/training-job/training-job.reconciler.ts';
import { Watches } from '../src/training-job/watches.ts';
import { aCache, aReconciler } from './real-parts.ts';
import { placesOf, type RackCluster, rackLabels } from './racks.ts';

type Json = Record<string, unknown>;

/** What a world has besides its pods. */
interface WorldOptions {
  readonly racks?: RackCluster;
  readonly clock?: Clock;
  /** Searches of nodes beside the loop, which ask for a reconcile of the job of that key. */
  readonly beside?: (scheduler: ClusterScheduler, onNews: (key: string) => void) => NodeSearches;
  /** Searches beside the loop for nodes that are to be held. */
  readonly findNodes?: (question: NodeQuestion, job: (uid: string) => TrainingJob | undefined) => ReturnType<FindNodes>;
}

type FindNodes = NonNullable<SchedulerView['findNodes']>;

/** A job of whole nodes. */
interface SubmittedJob {
  readonly namespace: string;
  readonly name: string;
  readonly pods: number;
}

/** As many as the operator makes unless an option says otherwise. */
const CALLS_AT_ONCE = 32;

const ENDED = { exitCode: 143, reason: 'Error', finishedAt: '2026-01-01T00:00:00Z' };

/** An API server that answers at once, and tells the cache in the same moment. */
export class InMemoryWorld {
  looks = 0;
  /** Statuses of jobs that were written. */
  writes = 0;
  readonly #pods = new Map<string, KubeObject & Json>();
  readonly #cache = aCache();
  readonly scheduler: ClusterScheduler;
  readonly #reconciler: TrainingJobReconciler;
  readonly #size: number;
  readonly #takesTurns: boolean;
  #queue: WorkQueue | undefined;
  #version = 1;
  #underWay = 0;

  /** `racks`: where its nodes are, with one of each rack in reserve; absent: as many nodes as pods, which are alike. */
  constructor(pods: number, { racks, beside, findNodes, clock = systemClock }: WorldOptions = {}) {
    this.#size = pods;
    this.#takesTurns = racks !== undefined;
    const scheduler = createClusterScheduler(this.#cache, clock, {
      promisesChanged: (uids) => watches.promisesChanged(uids),
      ...(findNodes === undefined
        ? {}
        : { findNodes: (question) => findNodes(question, (uid) => this.#cache.jobs.cached.byIndex(BY_UID, uid)[0]) }),
    });
    this.scheduler = scheduler;
    const nodeSearches = beside?.(scheduler, (key) => this.#queue?.add(key, 'normal'));
    this.#reconciler = aReconciler({
      client: this.#client(),
      cache: this.#cache,
      scheduler,
      clock,
      ...(nodeSearches === undefined ? {} : { nodeSearches }),
    });
    const watches = new Watches({
      cache: this.#cache,
      clock: systemClock,
      podNewsIntervalMs: 200,
      scheduler,
      wake: (key, priority) => this.#queue?.add(key, priority),
      onJobDeleted: () => undefined,
    });
    const places = racks === undefined ? undefined : placesOf(racks);
    if (racks !== undefined) this.#cache.stated.replace({ reserve: { nodesPerNvlinkDomain: racks.spares } });
    for (let index = 0; index < (places?.length ?? pods); index += 1) {
      const place = places?.[index];
      this.#cache.nodes.upsert(toCachedNode(this.#node(index, place === undefined ? {} : rackLabels(place))));
    }
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

  submit({ namespace, name, pods }: SubmittedJob = { namespace: 'bench', name: 'gang', pods: this.#size }): void {
    const metadata = {
      name,
      namespace,
      uid: `aaaaaaaa-${name}`,
      generation: 1,
      resourceVersion: this.#next(),
    };
    this.#cache.jobs.cached.upsert({
      apiVersion: 'training.coxswain.dev/v1alpha1',
      kind: 'TrainingJob',
      metadata,
      spec: {
        engine: { name: 'command', image: 'example/image', command: ['train'] },
        layout: { tensorParallelDegree: 8, dataParallelDegree: pods },
        resources: { gpusPerNode: 8 },
      },
    } as unknown as TrainingJob & KubeObject);
  }

  /** A pod of somebody else that uses all GPUs of the node. */
  occupy(index: number): void {
    this.#cache.pods.cached.upsert(this.#strangersPod(index));
  }

  /** The same pod is gone. */
  vacate(index: number): void {
    this.#cache.pods.cached.remove(this.#strangersPod(index));
  }

  #strangersPod(index: number): ReturnType<typeof toCachedPod> {
    const resources = { limits: { [GPU_RESOURCE]: '8' } };
    const metadata = {
      name: `on-${index}`,
      namespace: 'strangers',
      uid: `uid-of-on-${index}`,
      resourceVersion: this.#next(),
    };
    return toCachedPod({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { nodeName: `node-${index}`, containers: [{ name: 'busy', resources }] },
      status: { phase: 'Running' },
    } as KubeObject);
  }

  /** How many jobs have nodes. */
  placedJobs(): number {
    return this.#cache.placements.cached.list().length;
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

  /** Where the pods of the newest attempt are to run. */
  placedNodes(): readonly string[] {
    return this.#nodesOf(this.job());
  }

  #nodesOf(job: TrainingJob | undefined): readonly string[] {
    const { placement } = job?.status?.attempts?.at(-1) ?? {};
    return this.#cache.placements.cached.list().find(({ metadata }) => metadata.name === placement)?.spec.nodes ?? [];
  }

  runningPods(): number {
    return [...this.#pods.values()].filter((pod) => phaseOf(pod) !== 'Failed').length;
  }

  hasNode(name: string): boolean {
    return this.#cache.nodes.get(name) !== undefined;
  }

  /** Time has passed: the job is due. */
  wake(): void {
    const { namespace, name } = this.job().metadata;
    this.#queue?.add(`${namespace}/${name}`, 'normal');
  }

  /** The node is gone, with the kubelet that would end its pods. */
  removeNode(name: string): void {
    const node = this.#cache.nodes.get(name);
    if (node !== undefined) this.#cache.nodes.remove(node);
  }

  /** At most so many pods that are to end and whose node is there: their kubelets report the end, and what has no finalizer is gone. */
  endDeletedPods(most: number): void {
    let left = most;
    for (const [name, pod] of this.#pods) {
      if (left === 0) return;
      if (pod.metadata.deletionTimestamp === undefined || phaseOf(pod) === 'Failed') continue;
      if (this.#cache.nodes.get((pod['spec'] as { readonly nodeName?: string }).nodeName ?? '') === undefined) continue;
      const status = { phase: 'Failed', containerStatuses: [{ name: 'trainer', state: { terminated: ENDED } }] };
      this.#put({ ...pod, status });
      this.#removeUnheld(name);
      left -= 1;
    }
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
    const jobUid = toCachedPod(pod).gang?.jobUid ?? '';
    const nodeName = this.#nodesOf(this.#cache.jobs.cached.byIndex(BY_UID, jobUid)[0])[Number(name.split('-').at(-1))];
    this.#put({ ...pod, spec: { ...(pod['spec'] as Json), nodeName }, status });
  }

  #client(): KubeClient {
    const unused = (): never => {
      throw new Error('not called here');
    };
    return {
      get: async (path) => this.#get(path) as never,
      list: async (path) => ({ metadata: {}, items: path.endsWith('/pods') ? [...this.#pods.values()] : [] }) as never,
      create: async (_path, body, options) => {
        await this.#answered();
        return (options?.dryRun === true ? body : this.#put({ ...(body as KubeObject & Json) })) as never;
      },
      apply: async (_path, body) => this.#writeStatus(body as KubeObject & Json) as never,
      replace: async (_path, body) => {
        await this.#answered();
        return this.#writeStatus(body as unknown as KubeObject & Json) as never;
      },
      patch: async (path, body) => {
        await this.#answered();
        return this.#patch(path, body) as never;
      },
      delete: async (path) => {
        await this.#answered();
        return this.#delete(path);
      },
      version: unused,
      requestStream: unused,
      close: async () => undefined,
    };
  }

  /** Each call of a real one takes a turn of the loop: places for calls are few, so that the answers of thousands do not come at once. */
  async #answered(): Promise<void> {
    if (!this.#takesTurns) return;
    while (this.#underWay >= CALLS_AT_ONCE) await nextTurn();
    this.#underWay += 1;
    await nextTurn();
    this.#underWay -= 1;
  }

  #patch(path: string, body: unknown): unknown {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (Array.isArray(body)) {
      const pod = this.#pods.get(name);
      if (JSON.stringify(body).includes('/metadata/finalizers/')) return this.#releasePod(name);
      return this.#put({ ...pod, spec: { ...(pod?.['spec'] as Json), schedulingGates: [] } } as KubeObject & Json);
    }
    const { metadata } = body as { metadata: Json };
    const job = this.#jobAt(path);
    const changed = { ...job, metadata: { ...job.metadata, ...metadata, resourceVersion: this.#next() } };
    this.#cache.jobs.cached.upsert(changed as TrainingJob & KubeObject);
    return structuredClone(changed);
  }

  #get(path: string): KubeObject {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const found = path.includes('/trainingjobs/') ? structuredClone(this.#jobAt(path)) : this.#pods.get(name);
    const node = path.includes('/nodes/') && this.#cache.nodes.get(name) !== undefined;
    if (node) return this.#nodes.get(name) as KubeObject;
    if (found === undefined)
      throw new KubeApiError({ status: 404, reason: 'NotFound', message: `there is no ${path}` });
    return found as KubeObject;
  }

  /** The job at `…/namespaces/NAMESPACE/trainingjobs/NAME`. */
  #jobAt(path: string): TrainingJob {
    const [, namespace, , name] = /namespaces\/([^/]+)\/(trainingjobs)\/([^/]+)/.exec(path) ?? [];
    return this.#cache.jobs.cached.get(`${namespace}/${name}`) ?? this.job();
  }

  #delete(path: string): unknown {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const pod = this.#pods.get(name);
    if (pod === undefined) return { kind: 'Status' };
    const deletion = { deletionTimestamp: new Date().toISOString(), deletionGracePeriodSeconds: 60 };
    return this.#put({ ...pod, metadata: { ...pod.metadata, ...deletion } });
  }

  #releasePod(name: string): unknown {
    const pod = this.#pods.get(name);
    if (pod === undefined)
      throw new KubeApiError({ status: 404, reason: 'NotFound', message: `there is no pod ${name}` });
    const released = this.#put({ ...pod, metadata: { ...pod.metadata, finalizers: [] } });
    this.#removeUnheld(name);
    return released;
  }

  #removeUnheld(name: string): void {
    const pod = this.#pods.get(name);
    const { deletionTimestamp, finalizers = [], namespace } = pod?.metadata ?? {};
    if (deletionTimestamp === undefined || finalizers.length > 0) return;
    this.#pods.delete(name);
    const cached = this.#cache.pods.cached.get(`${namespace}/${name}`);
    if (cached !== undefined) this.#cache.pods.cached.remove(cached);
  }

  #writeStatus(body: KubeObject & Json): unknown {
    this.writes += 1;
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

  readonly #nodes = new Map<string, KubeObject>();

  #node(index: number, labels: Readonly<Record<string, string>>): KubeObject {
    const node = this.#nodeOf(index, labels);
    this.#nodes.set(node.metadata.name, node);
    return node;
  }

  #nodeOf(index: number, labels: Readonly<Record<string, string>>): KubeObject {
    return {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node-${index}`, uid: `uid-of-node-${index}`, resourceVersion: this.#next(), labels },
      status: { allocatable: { [GPU_RESOURCE]: '8' }, conditions: [{ type: 'Ready', status: 'True' }] },
    } as KubeObject;
  }

  #next(): string {
    return String((this.#version += 1));
  }
}

function phaseOf(pod: Json): unknown {
  return (pod['status'] as Json | undefined)?.['phase'];
}
