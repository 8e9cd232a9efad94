import type { FabricOverride } from '@coxswain/api-types';
import { type NodeFacts, withOverrides } from '@coxswain/fabric';
import type { CachedNode } from './cached-node.ts';

/** What an administrator says of nodes in the Fabric resource, laid over what the nodes say themselves. */
export class NodeOverrides {
  #overrides: readonly FabricOverride[] = [];
  #facts = new WeakMap<NodeFacts, NodeFacts>();
  readonly #listeners: (() => void)[] = [];

  /** The node's facts with what is said of it. */
  factsOf({ facts }: CachedNode): NodeFacts {
    const known = this.#facts.get(facts);
    if (known !== undefined) return known;
    const said = withOverrides(facts, this.#overrides);
    this.#facts.set(facts, said);
    return said;
  }

  /** What is said from now on. */
  replace(overrides: readonly FabricOverride[]): void {
    if (JSON.stringify(overrides) === JSON.stringify(this.#overrides)) return;
    this.#overrides = overrides;
    this.#facts = new WeakMap();
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` whenever other things are said, of whatever node. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }
}
