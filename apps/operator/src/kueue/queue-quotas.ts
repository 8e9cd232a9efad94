import { isNotFound, isUnauthorizedVerb, type KubeClient, type KubeObject } from '@coxswain/kube';
import { freeQuota, type FreeQuota } from '@coxswain/scheduling';
import { kueuePath } from '../cluster/paths.ts';

interface LocalQueue extends KubeObject {
  readonly spec?: { readonly clusterQueue?: unknown };
}

interface QueueQuotasParts {
  readonly client: Pick<KubeClient, 'get' | 'list'>;
  readonly clock: { now(): Date };
}

interface Quotas {
  readonly clusterQueues: readonly KubeObject[];
  readonly cohorts: readonly KubeObject[];
}

/** Many jobs ask at the same time. */
const KEPT_MS = 2_000;

/** Reads how much quota of a queue is free. Kueue changes it at any time, so an answer is no promise. */
export class QueueQuotas {
  readonly #parts: QueueQuotasParts;
  #read: { readonly atMs: number; readonly quotas: Promise<Quotas> } | undefined;

  constructor(parts: QueueQuotasParts) {
    this.#parts = parts;
  }

  /** In these flavours, or in the one with the most if none is named. undefined: the queue does not exist, or has no quota of GPUs. */
  async freeOf(about: {
    readonly namespace: string | undefined;
    readonly queueName: string;
    readonly flavours: readonly string[];
  }): Promise<FreeQuota | undefined> {
    const { namespace, queueName, flavours } = about;
    try {
      const { spec } = await this.#parts.client.get<LocalQueue>(
        kueuePath('localqueues', { namespace, name: queueName }),
      );
      return freeQuota(await this.#quotas(), String(spec?.clusterQueue), flavours);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #quotas(): Promise<Quotas> {
    const { clock } = this.#parts;
    const nowMs = clock.now().getTime();
    if (this.#read === undefined || nowMs - this.#read.atMs >= KEPT_MS) {
      const quotas = this.#readQuotas();
      this.#read = { atMs: nowMs, quotas };
      // A failed read is not kept.
      quotas.catch(() => (this.#read = undefined));
    }
    return this.#read.quotas;
  }

  async #readQuotas(): Promise<Quotas> {
    const { client } = this.#parts;
    const list = (resource: string): Promise<readonly KubeObject[]> =>
      client.list<KubeObject>(kueuePath(resource)).then(({ items }) => items);
    const [clusterQueues, cohorts] = await Promise.all([list('clusterqueues'), list('cohorts').catch(withoutCohorts)]);
    return { clusterQueues, cohorts };
  }
}

/** Without the right to list them, or in a Kueue without them, cohorts have no quota of their own and no parent. */
function withoutCohorts(error: unknown): readonly KubeObject[] {
  if (isUnauthorizedVerb(error) || isNotFound(error)) return [];
  throw error;
}
