/** Starts pods that read kept logs, on request of the API, and deletes them some minutes later. */
import { isFinished, type KeptLogsQuestion, LABELS, type KeptLogsPod } from '@coxswain/api-types';
import { type Clock, isAlreadyExists, isConflict, isNotFound, isRefusal, type KubeClient, sleep } from '@coxswain/kube';
import { safeText } from '@coxswain/safe-text';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_UID } from '../cluster/indexes.ts';
import { podsPath } from '../cluster/paths.ts';
import { ClaimPlaces } from '../worker-pods/claim-places.ts';
import type { WorkerContext } from '../worker-pods/worker-context.ts';
import type { WorkerPod } from '../worker-pods/worker-pod.ts';
import { LOGS_WORKER, logsFolderOf, logsPod, logsPodName } from './kept-logs-pod.ts';

/** Which lines of which job. The operator adds where they are. */
export interface KeptLogsRequest extends Omit<KeptLogsQuestion, 'folder'> {
  readonly jobUid: string;
}

/** The pod that answers, or why there is none. */
export type KeptLogsReply =
  | { readonly kind: 'pod'; readonly pod: KeptLogsPod }
  | { readonly kind: 'noJob' | 'notKept' | 'busy' }
  | { readonly kind: 'waits' | 'rejected'; readonly why: string };

/** Parts of the controller. `client` must reject writes while this process does not lead. */
export interface KeptLogsReadersParts {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'create' | 'delete'>;
  readonly cache: Pick<ClusterCache, 'jobs' | 'placements' | 'pods'>;
  readonly clock: Clock;
  readonly pods: Pick<WorkerContext, 'launcherImage' | 'user' | 'workers'>;
  readonly onError: (error: unknown) => void;
}

/** An answer is given again to the same question: of a job that goes on for a minute, of one that has finished as long as its pod is there. */
const REUSE_MS = { running: 60_000, finished: 600_000 } as const;
const KEEP_MS = 600_000;
const SWEEP_MS = 60_000;
/** Pods that read at the same time. */
const MAX_READING = { all: 32, namespace: 4 } as const;
/** Pods that exist; the oldest that have finished are deleted for new ones. */
const MAX_PRESENT = { all: 128, namespace: 16 } as const;
/** Requests that wait for the ones before them, or are answered. */
const MAX_WAITING = { all: 64, namespace: 8 } as const;

/** One pod for each question. No state is kept: another leader finds the pods by their label. */
export class KeptLogsReaders {
  readonly #parts: KeptLogsReadersParts;
  readonly #places: ClaimPlaces;
  /** Pods can be there: after a change of leader, and as long as the last list had some. */
  #mayHavePods = true;
  /** Requests are answered one after the other: each counts the pods that the ones before it started. */
  #last: Promise<unknown> = Promise.resolve();
  /** Namespaces of the requests in line, each as often as it has some. */
  readonly #inLine: string[] = [];

  constructor(parts: KeptLogsReadersParts) {
    this.#parts = parts;
    this.#places = new ClaimPlaces(parts);
  }

  /** Deletes old pods at intervals until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.sweep().catch((error: unknown) => this.#parts.onError(error));
      await sleep(this.#parts.clock, SWEEP_MS, signal);
    }
  }

  async sweep(): Promise<void> {
    if (!this.#mayHavePods) return;
    const pods = await this.#pods();
    this.#mayHavePods = pods.length > 0;
    const nowMs = this.#parts.clock.now().getTime();
    for (const pod of pods) if (nowMs - createdMs(pod) >= KEEP_MS) await this.#delete(pod);
  }

  /** Starts the pod that answers, unless it is there already. */
  async open(request: KeptLogsRequest): Promise<KeptLogsReply> {
    const { namespace = '' } = this.#parts.cache.jobs.cached.byIndex(BY_UID, request.jobUid)[0]?.metadata ?? {};
    const own = this.#inLine.filter((one) => one === namespace).length;
    if (this.#inLine.length >= MAX_WAITING.all || own >= MAX_WAITING.namespace) return { kind: 'busy' };
    this.#inLine.push(namespace);
    const leave = (): void => void this.#inLine.splice(this.#inLine.indexOf(namespace), 1);
    const reply = this.#last.then(() => this.#open(request)).finally(leave);
    this.#last = reply.catch(() => undefined);
    return await reply;
  }

  async #open({ jobUid, ...wanted }: KeptLogsRequest): Promise<KeptLogsReply> {
    const { cache, client, clock, pods } = this.#parts;
    const job = cache.jobs.cached.byIndex(BY_UID, jobUid)[0];
    if (job === undefined) return { kind: 'noJob' };
    const folder = logsFolderOf(job);
    const { checkpoint } = job.spec;
    if (folder === undefined || checkpoint === undefined) return { kind: 'notKept' };
    const { sinceMs } = wanted;
    // "Since five minutes ago" is the same question for a second.
    const since = sinceMs !== undefined && { sinceMs: Math.floor(sinceMs / 1_000) * 1_000 };
    const question = { ...wanted, ...since, folder };
    const { namespace = '' } = job.metadata;
    const reuseMs = isFinished(job) ? REUSE_MS.finished : REUSE_MS.running;
    const name = logsPodName(job, question, Math.floor(clock.now().getTime() / reuseMs));
    const pod: KeptLogsPod = { namespace, name, jobUid };
    const present = await this.#pods();
    if (present.some(({ metadata }) => metadata.name === name && metadata.namespace === namespace))
      return { kind: 'pod', pod };
    const ofNamespace = present.filter(({ metadata }) => metadata.namespace === namespace);
    if (countReading(present) >= MAX_READING.all || countReading(ofNamespace) >= MAX_READING.namespace)
      return { kind: 'busy' };
    const { claimName = '', bucket } = checkpoint;
    const place = await this.#places.placeOf(
      { metadata: { namespace }, spec: { claimName, bucket, jobUid } },
      { access: 'read' },
    );
    if ('waits' in place) return { kind: 'waits', why: place.waits };
    const newest = cache.placements.ofJob(job).toSorted((a, b) => b.spec.epoch - a.spec.epoch)[0];
    const context = { ...pods, job, runtime: newest?.spec.runtime, node: place.node };
    this.#mayHavePods = true;
    await this.#deleteOldest(ofNamespace, MAX_PRESENT.namespace);
    await this.#deleteOldest(present, MAX_PRESENT.all);
    try {
      await client.create(podsPath({ namespace }), logsPod(job, { name, question }, context));
    } catch (error) {
      if (isAlreadyExists(error)) return { kind: 'pod', pod };
      if (!isRefusal(error)) throw error;
      return { kind: 'rejected', why: safeText((error as Error).message, 512) };
    }
    return { kind: 'pod', pod };
  }

  /** Deletes pods that have finished until one more fits. */
  async #deleteOldest(present: readonly WorkerPod[], most: number): Promise<void> {
    const finished = present
      .filter((pod) => !isReading(pod))
      .toSorted((one, other) => createdMs(one) - createdMs(other));
    for (const pod of finished.slice(0, Math.max(0, present.length + 1 - most))) await this.#delete(pod);
  }

  async #delete({ metadata }: Pick<WorkerPod, 'metadata'>): Promise<void> {
    const { name, namespace, uid = '' } = metadata;
    await this.#parts.client.delete(podsPath({ namespace, name }), { uid }).catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  }

  async #pods(): Promise<readonly WorkerPod[]> {
    const selector = { labelSelector: `${LABELS.worker}=${LOGS_WORKER}` };
    return (await this.#parts.client.list<WorkerPod>(podsPath(), selector)).items;
  }
}

function isReading({ status }: WorkerPod): boolean {
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed';
}

function countReading(pods: readonly WorkerPod[]): number {
  return pods.filter(isReading).length;
}

function createdMs({ metadata }: WorkerPod): number {
  return Date.parse(metadata.creationTimestamp ?? '');
}
