import type { FabricSpec } from '@coxswain/api-types';
import {
  type DraAttributes,
  type FabricProblem,
  type NodeFacts,
  type NodeWindow,
  type Reserve,
  windowProblems,
  windowsOfNode,
  withOverrides,
} from '@coxswain/fabric';
import type { ObjectCache } from '@coxswain/kube';
import { type CachedNode, sameFacts } from './cached-node.ts';

/** Facts about nodes from outside their Node objects: the spec of the Fabric resource, which also sets the reserve, and devices of DRA drivers. */
export class StatedFabric {
  readonly #nodes: Pick<ObjectCache<CachedNode>, 'list'>;
  #spec: FabricSpec = {};
  #devices: ReadonlyMap<string, readonly DraAttributes[]> = new Map();
  #facts = new WeakMap<NodeFacts, NodeFacts>();
  #windows = new WeakMap<NodeFacts, readonly NodeWindow[]>();
  /** Windows over all nodes; undefined: nodes or windows have changed since the last question. */
  #windowsOfAll: ReadonlyMap<string, readonly NodeWindow[]> | undefined;
  readonly #listeners: ((changed: 'nodes' | 'reserve') => void)[] = [];

  constructor(nodes: Pick<ObjectCache<CachedNode>, 'list' | 'onChange'>) {
    this.#nodes = nodes;
    nodes.onChange((change) => {
      if (change.kind !== 'updated' || !sameFacts(change.previous, change.object)) this.#windowsOfAll = undefined;
    });
  }

  /** The facts of a node, with stated facts applied. */
  factsOf({ facts }: CachedNode): NodeFacts {
    const known = this.#facts.get(facts);
    if (known !== undefined) return known;
    const draDevices = this.#devices.get(facts.name);
    const whole = draDevices === undefined ? facts : { ...facts, draDevices };
    const overridden = withOverrides(whole, this.#spec.overrides ?? []);
    this.#facts.set(facts, overridden);
    return overridden;
  }

  /** Windows over a node, in the order in which they begin. */
  windowsOf({ facts }: CachedNode): readonly NodeWindow[] {
    if (this.#spec.windows === undefined) return NO_WINDOWS;
    const known = this.#windows.get(facts) ?? windowsOfNode(facts, this.#spec.windows);
    this.#windows.set(facts, known);
    return known;
  }

  /**
   * Windows over all nodes, by name of the node; nodes without windows are not in it. The same map until a node or the spec changes: thousands of waiting
   * jobs ask in one turn of the event loop, and a cluster may have ten thousand nodes.
   */
  windows(): ReadonlyMap<string, readonly NodeWindow[]> {
    if ((this.#spec.windows ?? []).length === 0) return NO_NODES;
    this.#windowsOfAll ??= new Map(
      this.#nodes
        .list()
        .map((node) => [node.metadata.name, this.windowsOf(node)] as const)
        .filter(([, windows]) => windows.length > 0),
    );
    return this.#windowsOfAll;
  }

  /** Windows that do not do what their author may think. */
  windowProblems(now: Date): readonly FabricProblem[] {
    return windowProblems(this.#spec.windows ?? [], this.windows(), now.getTime());
  }

  /** Undefined where nothing is. */
  get reserve(): Reserve | undefined {
    const { nodesPerNvlinkDomain = 0, nodesPerIsland = 0 } = this.#spec.reserve ?? {};
    return nodesPerNvlinkDomain + nodesPerIsland === 0 ? undefined : { nodesPerNvlinkDomain, nodesPerIsland };
  }

  /** Replaces the spec of the Fabric resource. */
  replace(spec: FabricSpec): void {
    const before = this.#spec;
    this.#spec = spec;
    if (JSON.stringify(spec.overrides ?? []) !== JSON.stringify(before.overrides ?? [])) {
      this.#facts = new WeakMap();
      this.#notify('nodes');
    }
    const hasOtherWindows = JSON.stringify(spec.windows) !== JSON.stringify(before.windows);
    if (hasOtherWindows) {
      this.#windows = new WeakMap();
      this.#windowsOfAll = undefined;
    }
    if (hasOtherWindows || JSON.stringify(spec.reserve) !== JSON.stringify(before.reserve)) this.#notify('reserve');
  }

  /** Replaces the devices that DRA drivers published. */
  replaceDevices(devices: ReadonlyMap<string, readonly DraAttributes[]>): void {
    const before = this.#devices;
    this.#devices = devices;
    if (JSON.stringify([...before]) === JSON.stringify([...devices])) return;
    this.#facts = new WeakMap();
    this.#notify('nodes');
  }

  /** Calls `listener` when stated facts of any node, or what is kept of nodes (reserve, windows), changed. */
  onChange(listener: (changed: 'nodes' | 'reserve') => void): void {
    this.#listeners.push(listener);
  }

  #notify(changed: 'nodes' | 'reserve'): void {
    for (const listener of this.#listeners) listener(changed);
  }
}

const NO_WINDOWS: readonly NodeWindow[] = [];
const NO_NODES: ReadonlyMap<string, readonly NodeWindow[]> = new Map();
