import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TrainingJob } from '@coxswain/api-types';
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
import type { ObservedNodeRequest } from '@coxswain/lifecycle';
import { type ClusterScheduler, podShape } from '@coxswain/scheduling';
import { cutText } from '@coxswain/safe-text';
import { childLabels } from '../cluster/cluster-cache.ts';
import { podTemplatesPath, provisioningRequestsPath, trainingJobsPath } from '../cluster/paths.ts';
import { ownedBy } from './owner.ts';
import { fitsRequest, isTemplateOf, provisioningRequest, type ProvisioningRequest } from './provisioning-request.ts';
import { requestName, UnwantedNodeRequests, waitsForNodes } from './unwanted-node-requests.ts';

/** Parts of {@link NodeRequests}. `client` must reject writes while this process does not lead. */
export interface NodeRequestsParts {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'create' | 'delete'>;
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
/** Thousands of jobs may wait: after so many of them, other work comes first. */
const JOBS_OF_TURN = 256;

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
  readonly #unwanted: UnwantedNodeRequests;
  #unservedUntilMs = -Infinity;

  constructor(parts: NodeRequestsParts) {
    this.#parts = parts;
    const { client, clock, className } = parts;
    this.#unwanted = new UnwantedNodeRequests({ client, clock, isOn: className !== undefined });
  }

  /** Request state of a job; undefined if it does not wait for nodes or was not reconciled yet. */
  stateOf(jobUid: string): ObservedNodeRequest | undefined {
    return this.#asked.get(jobUid)?.state;
  }

  /** Reconciles at intervals until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#attempt(() => this.reconcile());
      await sleep(this.#parts.clock, INTERVAL_MS, signal);
    }
  }

  /** Reconciles once. A failure affects its own job alone and is retried at the next interval. */
  async reconcile(): Promise<void> {
    const waiting = this.#parts.scheduler.waitingJobs('gpus').filter(({ job }) => waitsForNodes(job));
    const uids = new Set(waiting.map(({ job }) => job.metadata.uid));
    const wanted = this.#parts.className === undefined ? [] : waiting.map(({ job }) => requestKey(job));
    await this.#attempt(() => this.#unwanted.sweep(new Set(wanted)));
    for (const [uid, asked] of this.#asked) if (!uids.has(uid)) await this.#attempt(() => this.#end(uid, asked));
    for (const [index, { job, request }] of waiting.entries()) {
      if (index % JOBS_OF_TURN === JOBS_OF_TURN - 1) await nextTurn();
      if (request === undefined || (index >= MOST_REQUESTS && this.#cannotAsk() === undefined)) continue;
      const wanted = { ...podShape(request), demand: request.demand };
      await this.#attempt(() => this.#reconcileJob(job, wanted));
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
    const before = this.#asked.get(uid);
    const cannot = this.#cannotAsk();
    if (cannot !== undefined && before?.state === cannot && before.uid === undefined) return;
    const name = requestName(job);
    if (before !== undefined && before.name !== name) await this.#end(uid, before);
    // Of an earlier attempt, and the job as the API server has it still waits for it: the cache is ahead or behind.
    if ((this.#asked.get(uid)?.name ?? name) !== name) return;
    const asked = { ...(this.#asked.get(uid) ?? { name, state: undefined }), job };
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
      const found = await this.#replaceUnlessFitting(asked, { ...wanted, className });
      return found === undefined ? requested(asked) : await this.#judge(asked, found);
    } catch (error) {
      if (isKindUnknown(error)) {
        this.#unservedUntilMs = clock.monotonicMs() + SERVED_AGAIN_MS;
        return NOT_SERVED;
      }
      if (isRefusal(error) || error instanceof TakenNameError)
        return notAsked('Refused', cutText((error as Error).message, MOST_TEXT));
      throw error;
    }
  }

  #cannotAsk(): ObservedNodeRequest | undefined {
    const { className, clock } = this.#parts;
    if (className === undefined) return TURNED_OFF;
    return clock.monotonicMs() < this.#unservedUntilMs ? NOT_SERVED : undefined;
  }

  /** The request of the job, made if there is none, and made again if it no longer fits. Undefined: it is there, and the next reconcile reads it. */
  async #replaceUnlessFitting(
    asked: Asked,
    wanted: Omit<ProvisioningRequest, 'name' | 'metadata'>,
  ): Promise<KubeObject | undefined> {
    const found = await this.#find(asked);
    if (found === undefined) return this.#make(asked, wanted);
    if (!isOwnedBy(found, asked.job) || fitsRequest(found, { ...wanted, name: asked.name })) return found;
    // What the job needs comes from a cache. A request is deleted only if the API server has that version of the job.
    if (!(await this.#isCurrent(asked.job))) return found;
    if (found.metadata.uid !== undefined) asked.uid = found.metadata.uid;
    await this.#delete(asked);
    delete asked.overAtMs;
    return this.#make(asked, wanted);
  }

  async #isCurrent({ metadata }: TrainingJob): Promise<boolean> {
    const { namespace, name, uid, resourceVersion } = metadata;
    try {
      const live = await this.#parts.client.get<KubeObject>(trainingJobsPath({ namespace, name }));
      return live.metadata.uid === uid && live.metadata.resourceVersion === resourceVersion;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
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
    for (const template of templates) await this.#makeTemplate(job, template);
    return this.#create(provisioningRequestsPath({ namespace }), request);
  }

  /** A template of an earlier request of that name is replaced if its pods no longer fit. */
  async #makeTemplate(job: TrainingJob, template: KubeObject): Promise<void> {
    const { namespace } = job.metadata;
    const { name } = template.metadata;
    const { client } = this.#parts;
    if ((await this.#create(podTemplatesPath({ namespace }), template)) !== undefined) return;
    const path = podTemplatesPath({ namespace, name });
    const found = await client.get<KubeObject>(path);
    if (!isOwnedBy(found, job)) throw new TakenNameError(`a PodTemplate ${name} of another owner exists`);
    if (isTemplateOf(found, template)) return;
    await client.delete(path, { uid: found.metadata.uid ?? '', turnOf: job.metadata.uid });
    await this.#create(podTemplatesPath({ namespace }), template);
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
    if (!isOwnedBy(found, job)) {
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

  /** Deletes the request unless the job, read live, still waits for it: then only the cache is behind. */
  async #end(jobUid: string, asked: Asked): Promise<void> {
    const { job, name, uid } = asked;
    if (uid !== undefined) {
      const made = { name, namespace: job.metadata.namespace, uid, job: { name: job.metadata.name, uid: jobUid } };
      if (!(await this.#unwanted.deleteUnlessWanted(made))) return;
    }
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

function requestKey(job: TrainingJob): string {
  const { namespace } = job.metadata;
  return keyOf({ metadata: { name: requestName(job), ...(namespace === undefined ? {} : { namespace }) } });
}

function isOwnedBy({ metadata }: KubeObject, job: TrainingJob): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid) === true;
}

/** An object of somebody else has the name that a request needs. */
class TakenNameError extends Error {}

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
