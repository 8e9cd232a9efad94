import {
  type DraAttributes,
  ListedSlices,
  type NodeFacts,
  RESOURCE_SLICES,
  SLICES_INTERVAL_MS,
  SLICES_PER_PAGE,
} from '@coxswain/fabric';
import { type Clock, type KubeClient, listPages, resourcePath } from '@coxswain/kube';

/** What reading ResourceSlices needs, and whom it notifies of a change. */
export interface SeenDevicesParts {
  readonly kube: Pick<KubeClient, 'list'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Drivers say something else than before. */
  readonly onChange: () => void;
}

/** What DRA drivers say of the devices of nodes, read while somebody looks. Where the API is not served, may not be read or fails, what was read before holds. */
export class SeenDevices {
  readonly #parts: SeenDevicesParts;
  #ofNode: ReadonlyMap<string, readonly DraAttributes[]> = new Map();
  #text = '[]';
  #beganAtMs = -Infinity;
  #isReading = false;
  #hasTried = false;

  constructor(parts: SeenDevicesParts) {
    this.#parts = parts;
  }

  get hasTried(): boolean {
    return this.#hasTried;
  }

  /** Begins to read where that is due, and does not wait for it. */
  watch(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    if (this.#isReading || nowMs - this.#beganAtMs < SLICES_INTERVAL_MS) return;
    this.#beganAtMs = nowMs;
    this.#isReading = true;
    void this.#read()
      .catch(() => undefined)
      .finally(() => {
        this.#isReading = false;
        this.#hasTried = true;
      });
  }

  /** The node's facts with what drivers say of its devices. */
  with(facts: NodeFacts): NodeFacts {
    const draDevices = this.#ofNode.get(facts.name);
    return draDevices === undefined ? facts : { ...facts, draDevices };
  }

  async #read(): Promise<void> {
    const listed = new ListedSlices();
    const asked = { pageSize: SLICES_PER_PAGE };
    for await (const page of listPages(this.#parts.kube, resourcePath(RESOURCE_SLICES), asked))
      if (!listed.take(page)) break;
    const ofNode = listed.devicesByNode();
    const text = JSON.stringify([...ofNode]);
    if (text === this.#text) return;
    this.#text = text;
    this.#ofNode = ofNode;
    this.#parts.onChange();
  }
}
