import {
  type DraAttributes,
  ListedSlices,
  RESOURCE_SLICES,
  SLICES_INTERVAL_MS,
  SLICES_PER_PAGE,
} from '@coxswain/fabric';
import { isNotFound, KubeApiError, type Clock, type KubeClient, listPages, resourcePath } from '@coxswain/kube';
import type { StatedFabric } from '../cluster/stated-fabric.ts';

/** Parts of {@link DeviceReads}. */
export interface DeviceReadsParts {
  readonly client: Pick<KubeClient, 'list'>;
  readonly stated: Pick<StatedFabric, 'replaceDevices'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** Reads the ResourceSlices of DRA drivers at intervals and keeps attributes that describe the fabric. */
export class DeviceReads {
  readonly #parts: DeviceReadsParts;
  #readAtMs = -Infinity;

  constructor(parts: DeviceReadsParts) {
    this.#parts = parts;
  }

  /** Reads if it is due. Without the API or the right to read it, there are no devices. Throws if the API server fails; earlier devices then stay. */
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
