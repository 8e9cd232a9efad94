import { GPU_RESOURCE, type TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { noMetrics, type KubeObject } from '@coxswain/kube';
import { FakeClock } from '@coxswain/kube/testing';
import { aPlacement } from '@coxswain/lifecycle/testing';
import { toCachedNode } from '../cluster/cached-node.ts';
import { toCachedPriorityClass } from '../cluster/cached-priority-class.ts';
import { toCachedPod } from '../cluster/cached-pod.ts';
import { childLabels, createClusterCache, type ClusterCache } from '../cluster/cluster-cache.ts';
import { ownedBy } from '../training-job/owner.ts';

interface NodeScript {
  readonly gpus?: number;
  readonly ready?: boolean;
  readonly note?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Types of conditions that hold, beside Ready. */
  readonly conditions?: readonly string[];
}

/** The operator's cache as its watches would fill it: each call is one event. Nothing here speaks to a cluster. */
export class CacheScript {
  readonly clock = new FakeClock();
  readonly cache: ClusterCache;
  #version = 0;

  constructor() {
    const unused = (): never => {
      throw new Error('this cache is filled by its test');
    };
    this.cache = createClusterCache({
      client: { get: unused, list: unused, requestStream: unused },
      clock: this.clock,
      random: () => 0,
      metrics: noMetrics,
      onProblem: (problem) => {
        throw new Error('a handler or an index threw', { cause: problem });
      },
    });
  }

  /** The job of that name and UID, new or changed. */
  job(
    name: string,
    change: Partial<Pick<TrainingJob, 'status'>> & {
      readonly generation?: number;
      readonly priorityClassName?: string;
    } = {},
  ): TrainingJob {
    const { generation = 1, status, priorityClassName } = change;
    const spec = priorityClassName === undefined ? {} : { spec: { priorityClassName } };
    const metadata = { name, uid: `uid-of-${name}`, generation, resourceVersion: this.#next() };
    const job = aTrainingJob({ metadata, ...spec, ...(status === undefined ? {} : { status }) });
    this.cache.jobs.cached.upsert(job);
    return job;
  }

  jobDeleted(job: TrainingJob): void {
    const metadata = { ...job.metadata, resourceVersion: this.#next() };
    this.cache.jobs.cached.remove({ ...job, metadata } as TrainingJob & KubeObject);
  }

  placement(
    job: TrainingJob,
    spec: Parameters<typeof aPlacement>[1] = {},
    annotations: Readonly<Record<string, string>> = {},
  ): void {
    const placement = aPlacement(job, spec);
    const uid = `placement-${job.metadata.name}-${placement.spec.epoch}`;
    const metadata = { ...placement.metadata, uid, resourceVersion: this.#next(), annotations };
    this.cache.placements.cached.upsert({ ...placement, metadata });
  }

  /** A pod of a job, or a stranger's when there is none; it has two GPUs unless told otherwise. */
  pod(
    name: string,
    options: {
      readonly job?: TrainingJob;
      readonly nodeName?: string;
      readonly phase?: string;
      /** Its container runs. */
      readonly runs?: boolean;
      readonly gpus?: number;
      readonly namespace?: string;
    } = {},
  ): KubeObject {
    const pod = this.#rawPod(name, options);
    this.cache.pods.cached.upsert(toCachedPod(pod));
    return pod;
  }

  podDeleted(name: string, options: Parameters<CacheScript['pod']>[1] = {}): void {
    this.cache.pods.cached.remove(toCachedPod(this.#rawPod(name, options)));
  }

  /** A node with two GPUs, new or changed. */
  node(name: string, options: NodeScript = {}): void {
    const { gpus = 2, ready = true, note = '', labels = {}, annotations = {}, conditions = [] } = options;
    this.cache.nodes.upsert(
      toCachedNode({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: {
          ...{ name, uid: `uid-of-${name}`, resourceVersion: this.#next(), labels },
          annotations: { note, ...annotations },
        },
        status: {
          allocatable: { [GPU_RESOURCE]: String(gpus) },
          conditions: [
            { type: 'Ready', status: ready ? 'True' : 'False' },
            ...conditions.map((type) => ({ type, status: 'True', message: note })),
          ],
        },
      } as KubeObject),
    );
  }

  /** A PriorityClass, new or changed. */
  priorityClass(name: string, value = 1): void {
    const metadata = { name, uid: `uid-of-${name}`, resourceVersion: this.#next() };
    const object = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata, value };
    this.cache.priorityClasses.upsert(toCachedPriorityClass(object));
  }

  #rawPod(name: string, options: NonNullable<Parameters<CacheScript['pod']>[1]>): KubeObject {
    const { job, nodeName, phase = 'Running', runs = false, gpus = 2, namespace = 'research' } = options;
    const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace,
        uid: `uid-of-${name}`,
        resourceVersion: this.#next(),
        ...(job === undefined ? {} : { labels: childLabels(job, 1), ownerReferences: [ownedBy(job)] }),
      },
      spec: { nodeName, containers: [{ name: 'trainer', resources: { limits: { [GPU_RESOURCE]: String(gpus) } } }] },
      status: { phase, ...(runs ? { containerStatuses: [{ name: 'trainer', state }] } : {}) },
    } as KubeObject;
  }

  #next(): string {
    return String((this.#version += 1));
  }
}
