import { type DraAttributes, draDevicesByNode, type NodeFacts, sliceOfNode, type SliceOfNode } from '@coxswain/fabric';
import { type Clock, type KubeClient, listPages, resourcePath } from '@coxswain/kube';

const SLICES = resourcePath({ group: 'resource.k8s.io', version: 'v1', plural: 'resourceslices' });
/** As seldom as the operator: of 10,000 nodes these are 100 MB. */
const INTERVAL_MS = 300_000;
/** A slice has at most 128 devices, of about a kilobyte. */
const PAGE_SIZE = 100;
/** Several drivers on more nodes than there are. */
const MOST_SLICES = 100_000;

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
  look(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    if (this.#isReading || nowMs - this.#beganAtMs < INTERVAL_MS) return;
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
    const slices: SliceOfNode[] = [];
    for await (const page of listPages(this.#parts.kube, SLICES, { pageSize: PAGE_SIZE })) {
      slices.push(...page.flatMap((slice) => sliceOfNode(slice) ?? []));
      if (slices.length >= MOST_SLICES) break;
    }
    const ofNode = draDevicesByNode(slices);
    const text = JSON.stringify([...ofNode]);
    if (text === this.#text) return;
    this.#text = text;
    this.#ofNode = ofNode;
    this.#parts.onChange();
  }
}
