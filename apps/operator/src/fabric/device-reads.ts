import { draDevicesByNode, sliceOfNode, type SliceOfNode } from '@coxswain/fabric';
import { isNotFound, KubeApiError, type Clock, type KubeClient, listPages, resourcePath } from '@coxswain/kube';
import type { StatedFabric } from '../cluster/stated-fabric.ts';

export interface DeviceReadsParts {
  readonly client: Pick<KubeClient, 'list'>;
  readonly stated: Pick<StatedFabric, 'replaceDevices'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

const PATH = resourcePath({ group: 'resource.k8s.io', version: 'v1', plural: 'resourceslices' });
/** NICs and NVLink domains do not come and go: a list of 10,000 nodes' devices is 100 MB, so it is no watch and made seldom. */
const INTERVAL_MS = 300_000;
/** A slice has at most 128 devices, of about a kilobyte. */
const PAGE_SIZE = 100;
/** Several drivers on more nodes than there are. */
const MOST_SLICES = 100_000;

/** Reads from time to time what DRA drivers publish of the devices of nodes, and keeps what says something of the fabric. */
export class DeviceReads {
  readonly #parts: DeviceReadsParts;
  #readAtMs = -Infinity;

  constructor(parts: DeviceReadsParts) {
    this.#parts = parts;
  }

  /** Reads where that is due. Where the API is not served, or may not be read, nothing is known. Throws when the API server fails: what was read before holds. */
  async look(): Promise<void> {
    const { clock, stated } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#readAtMs < INTERVAL_MS) return;
    this.#readAtMs = nowMs;
    stated.replaceDevices(draDevicesByNode(await this.#slices()));
  }

  async #slices(): Promise<readonly SliceOfNode[]> {
    const slices: SliceOfNode[] = [];
    try {
      for await (const page of listPages(this.#parts.client, PATH, { pageSize: PAGE_SIZE })) {
        slices.push(...page.flatMap((slice) => sliceOfNode(slice) ?? []));
        if (slices.length >= MOST_SLICES) break;
      }
    } catch (error) {
      if (!isNotFound(error) && !(error instanceof KubeApiError && error.status === 403)) throw error;
      return [];
    }
    return slices;
  }
}
