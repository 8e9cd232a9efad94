import { findCondition, type TrainingJob, gangName } from '@coxswain/api-types';
import {
  isAlreadyExists,
  isConflict,
  isKindUnknown,
  isNotFound,
  isRefusal,
  keyOf,
  sleep,
  type Clock,
  type KubeClient,
  type KubeObject,
} from '@coxswain/kube';
import { worldSize } from '@coxswain/layout';
import type { ObservedNodeRequest } from '@coxswain/lifecycle';
import type { ClusterScheduler } from '@coxswain/scheduling';
import { cutText } from '@coxswain/safe-text';
import { childLabels } from '../cluster/cluster-cache.ts';
import { podTemplatesPath, provisioningRequestsPath } from '../cluster/paths.ts';
import { ownedBy } from './owner.ts';
import { provisioningRequest, type ProvisioningRequest } from './provisioning-request.ts';

/** Parts of {@link NodeRequests}. `client` must reject writes while this process does not lead. */
export interface NodeRequestsParts {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'delete'>;
  readonly scheduler: Pick<ClusterScheduler, 'waitingJobs'>;
  readonly clock: Clock;
  /** Class of the requests; undefined: none are made. */
  readonly className: string | undefined;
  /** Called when the request state of the job of that key changed. */
  readonly onNews: (key: string) => void;
  readonly onError: (error: unknown) => void;
}

const INTERVAL_MS = 10_000;
/** Jobs with a request at the same time, in scheduling order. */
const MOST_REQUESTS = 64;
/** Delay before a failed or expired request is created again. */
const AGAIN_MS = 600_000;
/** Delay before a cluster without the kind is checked again. */
const SERVED_AGAIN_MS = 300_000;
const MOST_TEXT = 1_024;

interface Asked {
  readonly job: TrainingJob;
  readonly name: string;
  state: ObservedNodeRequest | undefined;
  uid?: string;
  /** When the request was over, by the monotonic clock. */
  overAtMs?: number;
}

/**
 * Requests nodes that do not exist yet. Gated pods do not make an autoscaler add nodes, so each job that waits for capacity gets a ProvisioningRequest for
 * its next attempt. The request is deleted when the job no longer waits, or with the job. The condition NodesRequested of the job shows its state. No
 * state is recorded here: another leader finds the requests by their names.
 */
export class NodeRequests {
  readonly #parts: NodeRequestsParts;
  /** By UID of the job. */
  readonly #asked = new Map<string, Asked>();
  #unservedUntilMs = -Infinity;

  constructor(parts: NodeRequestsParts) {
    this.#parts = parts;
  }

  /** Request state of a job; undefined if it does not wait for nodes or was not reconciled yet. */
  stateOf(jobUid: string): ObservedNodeRequest | undefined {
    return this.#asked.get(jobUid)?.state;
  }

  /** Reconciles at intervals until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.reconcile();
      await sleep(this.#parts.clock, INTERVAL_MS, signal);
    }
  }

  /** Reconciles once. A failure affects its own job alone and is retried at the next interval. */
  async reconcile(): Promise<void> {
    const waiting = this.#parts.scheduler.waitingJobs('gpus').filter(({ job }) => waitsForNodes(job));
    const uids = new Set(waiting.map(({ job }) => job.metadata.uid));
    for (const [uid, asked] of this.#asked) if (!uids.has(uid)) await this.#attempt(() => this.#end(uid, asked));
    for (const [index, { job, request }] of waiting.entries()) {
      if (request === undefined || (index >= MOST_REQUESTS && this.#cannotAsk() === undefined)) continue;
      const ranks = worldSize(request.layout);
      const wanted = { ranks, gpusPerPod: Math.min(ranks, request.gpusPerNode ?? USUAL_GPUS_PER_NODE) };
      await this.#attempt(() => this.#reconcileJob(job, { ...wanted, demand: request.demand }));
    }
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#parts.onError(error);
    }
  }

  async #reconcileJob(
    job: TrainingJob,
    wanted: Pick<ProvisioningRequest, 'ranks' | 'gpusPerPod' | 'demand'>,
  ): Promise<void> {
    const uid = job.metadata.uid ?? '';
    const name = gangName(job.metadata as Parameters<typeof gangName>[0], { epoch: (job.status?.epoch ?? 0) + 1 });
    const before = this.#asked.get(uid);
    if (before !== undefined && before.name !== name) await this.#end(uid, before);
    const asked = this.#asked.get(uid) ?? { job, name, state: undefined };
    this.#asked.set(uid, asked);
    const { state } = asked;
    asked.state = await this.#ask(asked, wanted);
    if (JSON.stringify(state) !== JSON.stringify(asked.state)) this.#parts.onNews(keyOf(job));
  }

  async #ask(
    asked: Asked,
    wanted: Pick<ProvisioningRequest, 'ranks' | 'gpusPerPod' | 'demand'>,
  ): Promise<ObservedNodeRequest> {
    const { className = '', clock } = this.#parts;
    const cannot = this.#cannotAsk();
    if (cannot !== undefined) return cannot;
    try {
      const found = (await this.#find(asked)) ?? (await this.#make(asked, { ...wanted, className }));
      return found === undefined ? requested(asked) : await this.#judge(asked, found);
    } catch (error) {
      if (isKindUnknown(error)) {
        this.#unservedUntilMs = clock.monotonicMs() + SERVED_AGAIN_MS;
        return NOT_SERVED;
      }
      if (isRefusal(error)) return notAsked('Refused', cutText((error as Error).message, MOST_TEXT));
      throw error;
    }
  }

  #cannotAsk(): ObservedNodeRequest | undefined {
    const { className, clock } = this.#parts;
    if (className === undefined) return TURNED_OFF;
    return clock.monotonicMs() < this.#unservedUntilMs ? NOT_SERVED : undefined;
  }

  /** The object of that name, of any creator. */
  async #find({ job, name }: Asked): Promise<KubeObject | undefined> {
    const path = provisioningRequestsPath({ namespace: job.metadata.namespace, name });
    try {
      return await this.#parts.client.get<KubeObject>(path);
    } catch (error) {
      if (isNotFound(error) && !isKindUnknown(error)) return undefined;
      throw error;
    }
  }

  /** Its templates first: a request that names none fails for good. */
  async #make(
    { job, name }: Asked,
    wanted: Omit<ProvisioningRequest, 'name' | 'metadata'>,
  ): Promise<KubeObject | undefined> {
    const { namespace } = job.metadata;
    const epoch = (job.status?.epoch ?? 0) + 1;
    const metadata = { namespace, labels: childLabels(job, epoch), ownerReferences: [ownedBy(job)] };
    const { templates, request } = provisioningRequest({ ...wanted, name, metadata });
    for (const template of templates) await this.#create(podTemplatesPath({ namespace }), template);
    return this.#create(provisioningRequestsPath({ namespace }), request);
  }

  async #create(path: string, object: KubeObject): Promise<KubeObject | undefined> {
    try {
      return await this.#parts.client.create<KubeObject>(path, object);
    } catch (error) {
      // Created by us with a lost response, or by an earlier leader; the next reconcile reads it.
      if (isAlreadyExists(error)) return undefined;
      throw error;
    }
  }

  async #judge(asked: Asked, found: KubeObject): Promise<ObservedNodeRequest> {
    const { job, name } = asked;
    if (found.metadata.ownerReferences?.every(({ uid }) => uid !== job.metadata.uid) !== false) {
      return notAsked('Refused', `a ProvisioningRequest ${name} of another owner exists`);
    }
    if (found.metadata.uid !== undefined) asked.uid = found.metadata.uid;
    const { conditions } = (found as { status?: { conditions?: unknown } }).status ?? {};
    const over = ['Failed', 'CapacityRevoked', 'BookingExpired'].flatMap(
      (type) => messageOfCondition(conditions, type) ?? [],
    )[0];
    const named = `ProvisioningRequest ${name}`;
    if (over !== undefined)
      return this.#expire(asked, { holds: false, reason: 'Failed', message: `${named}: ${over}` });
    const provisioned = messageOfCondition(conditions, 'Provisioned');
    if (provisioned !== undefined) return { holds: true, reason: 'Provisioned', message: `${named}: ${provisioned}` };
    return requested(asked);
  }

  /** A request is one-shot: an expired one is deleted after a while, and the next reconcile creates another. */
  async #expire(asked: Asked, state: ObservedNodeRequest): Promise<ObservedNodeRequest> {
    const nowMs = this.#parts.clock.monotonicMs();
    asked.overAtMs ??= nowMs;
    if (nowMs - asked.overAtMs < AGAIN_MS) return state;
    await this.#delete(asked);
    delete asked.overAtMs;
    return state;
  }

  async #end(jobUid: string, asked: Asked): Promise<void> {
    await this.#delete(asked);
    this.#asked.delete(jobUid);
    if (asked.state !== undefined) this.#parts.onNews(keyOf(asked.job));
  }

  /** Templates stay until their job goes, for the next request of that name, or are collected with it. */
  async #delete({ job, name, uid }: Asked): Promise<void> {
    if (uid === undefined) return;
    try {
      const path = provisioningRequestsPath({ namespace: job.metadata.namespace, name });
      await this.#parts.client.delete(path, {
        uid,
        ...(job.metadata.uid === undefined ? {} : { turnOf: job.metadata.uid }),
      });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

/** Default of most machines, if neither job nor runtime sets it. */
const USUAL_GPUS_PER_NODE = 8;

function waitsForNodes({ status }: TrainingJob): boolean {
  return findCondition(status?.conditions, 'Placed')?.reason === 'WaitingForCapacity';
}

function requested({ name }: Asked): ObservedNodeRequest {
  return {
    holds: true,
    reason: 'Requested',
    message: `ProvisioningRequest ${name} requests nodes for the whole gang.`,
  };
}

function notAsked(reason: ObservedNodeRequest['reason'], why: string): ObservedNodeRequest {
  const message = `No nodes are requested: ${why}. Gated pods do not make an autoscaler add nodes; add nodes, or request fewer GPUs.`;
  return { holds: false, reason, message };
}

const TURNED_OFF = notAsked('TurnedOff', 'the operator is configured without ProvisioningRequests');
const NOT_SERVED = notAsked('NotServed', 'the cluster does not serve ProvisioningRequests (autoscaling.x-k8s.io/v1)');

/** Type and message of a condition that is True; otherwise undefined. The text is untrusted. */
function messageOfCondition(conditions: unknown, type: string): string | undefined {
  const all: readonly unknown[] = Array.isArray(conditions) ? conditions : [];
  const found = all.find((one) => (one as { type?: unknown } | null)?.type === type) as
    { status?: unknown; message?: unknown; reason?: unknown } | undefined;
  if (found?.status !== 'True') return undefined;
  const { message, reason } = found;
  return cutText(`${type}, ${typeof message === 'string' && message !== '' ? message : String(reason)}`, MOST_TEXT);
}
