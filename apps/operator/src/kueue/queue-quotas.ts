import { isNotFound, type KubeClient, type KubeObject } from '@coxswain/kube';
import { freeQuota, type FreeQuota } from '@coxswain/scheduling';
import { kueuePath } from '../cluster/paths.ts';

interface LocalQueue extends KubeObject {
  readonly spec?: { readonly clusterQueue?: unknown };
}

interface QueueQuotasParts {
  readonly client: Pick<KubeClient, 'get' | 'list'>;
  readonly clock: { now(): Date };
}

/** Many jobs ask at the same time. */
const KEPT_MS = 2_000;

/** Reads how much quota of a queue is free. Kueue changes it at any time, so an answer is no promise. */
export class QueueQuotas {
  readonly #parts: QueueQuotasParts;
  #read: { readonly atMs: number; readonly queues: Promise<readonly KubeObject[]> } | undefined;

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
      return freeQuota(await this.#clusterQueues(), String(spec?.clusterQueue), flavours);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #clusterQueues(): Promise<readonly KubeObject[]> {
    const { client, clock } = this.#parts;
    const nowMs = clock.now().getTime();
    if (this.#read === undefined || nowMs - this.#read.atMs >= KEPT_MS) {
      const queues = client.list<KubeObject>(kueuePath('clusterqueues')).then(({ items }) => items);
      this.#read = { atMs: nowMs, queues };
      // A failed read is not kept.
      queues.catch(() => (this.#read = undefined));
    }
    return this.#read.queues;
  }
}
