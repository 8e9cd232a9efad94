import { API_GROUP_VERSION, findCondition, gangName, LABELS, type TrainingJob } from '@coxswain/api-types';
import {
  isConflict,
  isKindUnknown,
  isNotFound,
  isRefusal,
  keyOf,
  type Clock,
  type KubeClient,
  type KubeObject,
} from '@coxswain/kube';
import { provisioningRequestsPath, trainingJobsPath } from '../cluster/paths.ts';

/** Between two searches for requests that no job waits for. */
const INTERVAL_MS = 600_000;
const PAGE_SIZE = 256;

/** Parts of {@link UnwantedNodeRequests}. */
export interface UnwantedNodeRequestsParts {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'delete'>;
  readonly clock: Clock;
  /** Whether jobs get requests at all. */
  readonly isOn: boolean;
}

/** A request and the job that it was made for. */
export interface MadeRequest {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string;
  readonly job: { readonly name: string; readonly uid: string };
}

/**
 * Deletes ProvisioningRequests whose job ended, started or was deleted while no operator led, or while another one did. Each delete stands on a live
 * read of its job, and names the UID of the request.
 */
export class UnwantedNodeRequests {
  readonly #parts: UnwantedNodeRequestsParts;
  #nextAtMs = -Infinity;

  constructor(parts: UnwantedNodeRequestsParts) {
    this.#parts = parts;
  }

  /** Searches all namespaces, at most once per interval. `wanted` has the keys of requests that jobs in the cache wait for. Throws on a failed call. */
  async sweep(wanted: ReadonlySet<string>): Promise<void> {
    const nowMs = this.#parts.clock.monotonicMs();
    if (nowMs < this.#nextAtMs) return;
    for (const request of await this.#list()) {
      const { name, namespace } = request;
      const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
      if (!wanted.has(keyOf({ metadata }))) await this.deleteUnlessWanted(request);
    }
    this.#nextAtMs = nowMs + INTERVAL_MS;
  }

  /** Deletes the request if its job, read live, does not wait for it. Returns whether it is gone. */
  async deleteUnlessWanted(request: MadeRequest): Promise<boolean> {
    if (await this.#isWanted(request)) return false;
    const { name, namespace, uid, job } = request;
    try {
      await this.#parts.client.delete(provisioningRequestsPath({ namespace, name }), { uid, turnOf: job.uid });
    } catch (error) {
      // Another object has the name.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return true;
  }

  async #isWanted({ name, namespace, job }: MadeRequest): Promise<boolean> {
    if (!this.#parts.isOn) return false;
    try {
      const live = await this.#parts.client.get<TrainingJob>(trainingJobsPath({ namespace, name: job.name }));
      return live.metadata.uid === job.uid && waitsForNodes(live) && name === requestName(live);
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #list(): Promise<readonly MadeRequest[]> {
    const made: MadeRequest[] = [];
    let token: string | undefined;
    try {
      do {
        const page = await this.#parts.client.list<KubeObject>(provisioningRequestsPath(), {
          labelSelector: LABELS.jobUid,
          limit: PAGE_SIZE,
          ...(token === undefined ? {} : { continue: token }),
        });
        made.push(...page.items.flatMap((object) => madeRequest(object) ?? []));
        token = page.metadata.continue === '' ? undefined : page.metadata.continue;
      } while (token !== undefined);
    } catch (error) {
      // The cluster has none, or an administrator has not granted the right to list them.
      if (!isKindUnknown(error) && !isRefusal(error)) throw error;
    }
    return made;
  }
}

/** Name of the request of a job for its next attempt. */
export function requestName({ metadata, status }: TrainingJob): string {
  return gangName(metadata, { epoch: (status?.epoch ?? 0) + 1 });
}

/** Whether the job waits for GPUs that the cluster does not have free. */
export function waitsForNodes({ status }: TrainingJob): boolean {
  return findCondition(status?.conditions, 'Placed')?.reason === 'WaitingForCapacity';
}

/** The request if its labels, owner and name agree, so that this operator or an earlier one made it. */
function madeRequest({ metadata }: KubeObject): MadeRequest | undefined {
  const { name, namespace, uid, labels = {}, ownerReferences = [] } = metadata;
  const owner = ownerReferences.find(
    ({ apiVersion, kind }) => apiVersion === API_GROUP_VERSION && kind === 'TrainingJob',
  );
  const epoch = Number(labels[LABELS.epoch]);
  if (uid === undefined || owner === undefined || !Number.isSafeInteger(epoch)) return undefined;
  if (labels[LABELS.jobUid] !== owner.uid || name !== gangName(owner, { epoch })) return undefined;
  return { name, namespace, uid, job: { name: owner.name, uid: owner.uid } };
}
