import { drainNotices, type DrainRequest, type NodeNotice } from '@coxswain/lifecycle';

/** Open DrainRequests by the node that they name. */
export class StatedDrains {
  #byNode: ReadonlyMap<string, readonly DrainRequest[]> = new Map();
  readonly #listeners: ((node: string) => void)[] = [];

  /** Replaces them all. Returns the nodes of those that came and went. */
  replace(requests: readonly DrainRequest[]): readonly string[] {
    const before = this.#byNode;
    this.#byNode = Map.groupBy(
      requests.filter(({ isAnswered }) => !isAnswered),
      ({ node }) => node,
    );
    const names = (of: typeof before, node: string): string => (of.get(node) ?? []).map(keyOfRequest).join();
    const nodes = new Set([...before.keys(), ...this.#byNode.keys()]);
    const changed = [...nodes].filter((node) => names(before, node) !== names(this.#byNode, node));
    for (const node of changed) for (const listener of this.#listeners) listener(node);
    return changed;
  }

  /** Calls `listener` with each node for which a request came or went. */
  onChange(listener: (node: string) => void): void {
    this.#listeners.push(listener);
  }

  /** Whether the node takes no more gangs. */
  isAsked(node: string): boolean {
    return this.#byNode.has(node);
  }

  /** What they say to jobs of that namespace. */
  noticesOf(node: string, namespace: string | undefined): readonly NodeNotice[] {
    const requests = this.#byNode.get(node);
    return requests === undefined ? [] : drainNotices(requests, namespace);
  }
}

function keyOfRequest({ namespace, name }: DrainRequest): string {
  return `${namespace}/${name}`;
}
