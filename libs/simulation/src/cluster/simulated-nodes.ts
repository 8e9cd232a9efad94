/** Which nodes are there, in which state, and who holds their GPUs? */
import type { NodeFacts } from '@coxswain/fabric';
import type { NodeCensus, NodeState } from '@coxswain/lifecycle';

/** Nodes below one leaf switch (ByteRobust, arXiv 2509.16293: 32 machines). */
export const NODES_PER_LEAF = 32;
/** Leaf switches below one spine; placement keeps gangs together below both. */
const LEAVES_PER_SPINE = 32;

/** `wornOut`: its kubelet answers, and somebody has cordoned it. `dead`: nothing answers. */
export type Condition = 'well' | 'wornOut' | 'dead';

interface Node {
  readonly facts: NodeFacts;
  condition: Condition;
  /** Counts its boots: a node that was mended is another one to the rules. */
  boots: number;
  /** GPUs under pods that are bound to it and have not ended. */
  usedGpus: number;
}

/** Nodes of one GPU each: nothing that is simulated happens inside a node, and rules see nodes and pods. */
export class SimulatedNodes {
  readonly #nodes = new Map<string, Node>();
  readonly names: readonly string[];

  /** `hasSwitches`: nodes say below which leaf and spine they sit, and placement goes by it. */
  constructor(count: number, hasSwitches: boolean) {
    const digits = String(count).length;
    this.names = Array.from({ length: count }, (_, index) => `node-${String(index).padStart(digits, '0')}`);
    for (const [index, name] of this.names.entries()) {
      const leaf = Math.floor(index / NODES_PER_LEAF);
      const switches = {
        'fabric.topograph.run/tier-0': `leaf-${leaf}`,
        'fabric.topograph.run/tier-1': `spine-${Math.floor(leaf / LEAVES_PER_SPINE)}`,
      };
      const labels = hasSwitches ? switches : {};
      const facts = { name, labels, gpuCapacity: 1, schedulable: true, ready: true };
      this.#nodes.set(name, { facts, condition: 'well', boots: 1, usedGpus: 0 });
    }
  }

  conditionOf(name: string): Condition {
    return this.#nodes.get(name)?.condition ?? 'dead';
  }

  /** A node that becomes well was mended, and has booted again. */
  become(name: string, condition: Condition): void {
    const node = this.#nodes.get(name);
    if (node === undefined) return;
    if (condition === 'well' && node.condition !== 'well') node.boots += 1;
    node.condition = condition;
  }

  stateOf(name: string): NodeState {
    const node = this.#nodes.get(name);
    if (node === undefined) return 'gone';
    return node.condition === 'dead' ? 'notReady' : 'ready';
  }

  bootIdOf(name: string): string | undefined {
    const node = this.#nodes.get(name);
    return node === undefined ? undefined : `${name}/${node.boots}`;
  }

  /** Of all nodes, used or not. */
  census(): NodeCensus {
    const dead = [...this.#nodes.values()].filter(({ condition }) => condition === 'dead').length;
    return { nodes: this.#nodes.size, notReady: dead };
  }

  factsOf(name: string): NodeFacts | undefined {
    const node = this.#nodes.get(name);
    if (node === undefined) return undefined;
    const { facts, condition } = node;
    if (condition === 'well') return facts;
    return condition === 'dead' ? { ...facts, ready: false } : { ...facts, schedulable: false, isCordoned: true };
  }

  allFacts(): readonly NodeFacts[] {
    return this.names.flatMap((name) => this.factsOf(name) ?? []);
  }

  usedGpusOf(name: string): number {
    return this.#nodes.get(name)?.usedGpus ?? 0;
  }

  hold(name: string, gpus: number): void {
    const node = this.#nodes.get(name);
    if (node !== undefined) node.usedGpus += gpus;
  }

  usedGpus(): Map<string, number> {
    const used = [...this.#nodes].filter(([, node]) => node.usedGpus > 0);
    return new Map(used.map(([name, node]) => [name, node.usedGpus]));
  }
}
