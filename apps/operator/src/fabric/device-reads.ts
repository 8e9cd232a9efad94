import {
  type DraAttributes,
  ListedSlices,
  RESOURCE_SLICES,
  SLICES_INTERVAL_MS,
  SLICES_PER_PAGE,
} from '@coxswain/fabric';
import { isNotFound, KubeApiError, type Clock, type KubeClient, listPages, resourcePath } from '@coxswain/kube';
import type { StatedFabric } from '../cluster/stated-fabric.ts';

export interface DeviceReadsParts {
  readonly client: Pick<KubeClient, 'list'>;
  readonly stated: Pick<StatedFabric, 'replaceDevices'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** Reads from time to time what DRA drivers publish of the devices of nodes, and keeps what says something of the fabric. */
export class DeviceReads {
  readonly #parts: DeviceReadsParts;
  #readAtMs = -Infinity;

  constructor(parts: DeviceReadsParts) {
    this.#parts = parts;
  }

  /** Reads where that is due. Where the API is not served, or may not be read, nothing is known. Throws when the API server fails: what was read before holds. */
  async refresh(): Promise<void> {
    const { clock, stated } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#readAtMs < SLICES_INTERVAL_MS) return;
    this.#readAtMs = nowMs;
    stated.replaceDevices(await this.#devices());
  }

  async #devices(): Promise<ReadonlyMap<string, readonly DraAttributes[]>> {
    const listed = new ListedSlices();
    const asked = { pageSize: SLICES_PER_PAGE };
    try {
      for await (const page of listPages(this.#parts.client, resourcePath(RESOURCE_SLICES), asked))
        if (!listed.take(page)) break;
    } catch (error) {
      if (!isNotFound(error) && !(error instanceof KubeApiError && error.status === 403)) throw error;
      return new Map();
    }
    return listed.devicesByNode();
  }
}
