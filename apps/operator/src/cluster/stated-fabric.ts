import type { FabricSpec } from '@coxswain/api-types';
import { type DraAttributes, type NodeFacts, type Reserve, withOverrides } from '@coxswain/fabric';
import type { CachedNode } from './cached-node.ts';

/** What is said of nodes elsewhere than in their Node objects: by an administrator in the Fabric resource, who also says how many are kept in reserve, and by DRA drivers of their devices. */
export class StatedFabric {
  #spec: FabricSpec = {};
  #devices: ReadonlyMap<string, readonly DraAttributes[]> = new Map();
  #facts = new WeakMap<NodeFacts, NodeFacts>();
  readonly #listeners: ((changed: 'nodes' | 'reserve') => void)[] = [];

  /** The node's facts with what is said of it. */
  factsOf({ facts }: CachedNode): NodeFacts {
    const known = this.#facts.get(facts);
    if (known !== undefined) return known;
    const draDevices = this.#devices.get(facts.name);
    const whole = draDevices === undefined ? facts : { ...facts, draDevices };
    const said = withOverrides(whole, this.#spec.overrides ?? []);
    this.#facts.set(facts, said);
    return said;
  }

  /** Undefined where nothing is. */
  get reserve(): Reserve | undefined {
    const { nodesPerNvlinkDomain = 0, nodesPerIsland = 0 } = this.#spec.reserve ?? {};
    return nodesPerNvlinkDomain + nodesPerIsland === 0 ? undefined : { nodesPerNvlinkDomain, nodesPerIsland };
  }

  /** What is stated from now on. */
  replace(spec: FabricSpec): void {
    const before = this.#spec;
    this.#spec = spec;
    if (JSON.stringify(spec.overrides ?? []) !== JSON.stringify(before.overrides ?? [])) {
      this.#facts = new WeakMap();
      this.#tell('nodes');
    }
    if (JSON.stringify(spec.reserve) !== JSON.stringify(before.reserve)) this.#tell('reserve');
  }

  /** What drivers say of the devices of each node from now on. */
  replaceDevices(devices: ReadonlyMap<string, readonly DraAttributes[]>): void {
    const before = this.#devices;
    this.#devices = devices;
    if (JSON.stringify([...before]) === JSON.stringify([...devices])) return;
    this.#facts = new WeakMap();
    this.#tell('nodes');
  }

  /** Calls `listener` whenever other things are stated, of whatever node. */
  onChange(listener: (changed: 'nodes' | 'reserve') => void): void {
    this.#listeners.push(listener);
  }

  #tell(changed: 'nodes' | 'reserve'): void {
    for (const listener of this.#listeners) listener(changed);
  }
}
