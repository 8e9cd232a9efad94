import type { FabricSpec } from '@coxswain/api-types';
import { type NodeFacts, type Reserve, withOverrides } from '@coxswain/fabric';
import type { CachedNode } from './cached-node.ts';

/** What an administrator states in the Fabric resource: of nodes, laid over what they say themselves, and how many are kept in reserve. */
export class StatedFabric {
  #spec: FabricSpec = {};
  #facts = new WeakMap<NodeFacts, NodeFacts>();
  readonly #listeners: ((changed: 'nodes' | 'reserve') => void)[] = [];

  /** The node's facts with what is said of it. */
  factsOf({ facts }: CachedNode): NodeFacts {
    const known = this.#facts.get(facts);
    if (known !== undefined) return known;
    const said = withOverrides(facts, this.#spec.overrides ?? []);
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

  /** Calls `listener` whenever other things are stated, of whatever node. */
  onChange(listener: (changed: 'nodes' | 'reserve') => void): void {
    this.#listeners.push(listener);
  }

  #tell(changed: 'nodes' | 'reserve'): void {
    for (const listener of this.#listeners) listener(changed);
  }
}
