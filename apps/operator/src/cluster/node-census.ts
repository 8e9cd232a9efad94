import type { ObjectCache } from '@coxswain/kube';
import type { NodeCensus as Census } from '@coxswain/lifecycle';
import type { CachedNode } from './cached-node.ts';

/** How many nodes there are and how many of them are not ready; kept current node by node, since there may be ten thousand. */
export class NodeCensus {
  #nodes = 0;
  #notReady = 0;

  constructor(nodes: ObjectCache<CachedNode>) {
    nodes.onChange((change) => {
      if (change.kind !== 'added') this.#count(change.kind === 'updated' ? change.previous : change.object, -1);
      if (change.kind !== 'deleted') this.#count(change.object, 1);
    });
  }

  get now(): Census {
    return { nodes: this.#nodes, notReady: this.#notReady };
  }

  #count({ facts }: CachedNode, sign: 1 | -1): void {
    this.#nodes += sign;
    if (!facts.ready) this.#notReady += sign;
  }
}
