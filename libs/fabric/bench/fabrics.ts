/** Fabrics that the bench places gangs on: names say nothing of places, and what is taken was taken in pieces as jobs take it. */
import type { FabricCapacity, FabricNode } from '../src/nodes/fabric.ts';
import { aFabricCapacity, aFabricNode } from '../src/testing/index.ts';

export interface BenchFabric {
  readonly name: string;
  readonly gpusPerNode: number;
  readonly nodes: readonly FabricNode[];
}

/** Numbers in [0, 1) from a seed (mulberry32, T. Ettinger). */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Switches of a tree, named near to far; `fanOuts` far to near, the last one the nodes below a leaf. */
function treeOf(fanOuts: readonly number[], island: string): readonly (readonly string[])[] {
  let above: readonly (readonly string[])[] = [[]];
  for (const fanOut of fanOuts.slice(0, -1)) {
    above = above.flatMap((switches) =>
      Array.from({ length: fanOut }, (_, index) => [`${switches[0] ?? island}/${index}`, ...switches]),
    );
  }
  return above.flatMap((switches) => Array.from({ length: fanOuts.at(-1) ?? 1 }, () => switches));
}

export function tree(name: string, fanOuts: readonly number[]): BenchFabric {
  const nodes = treeOf(fanOuts, name).map((switches, index) => aFabricNode({ name: `n${index}`, switches }));
  return { name, gpusPerNode: 8, nodes };
}

/** Spines of 2 to 12 leaves, leaves of 1 to 24 nodes: what is left of a cluster that was built in several years. */
export function uneven(name: string, spines: number): BenchFabric {
  const random = randomFrom(spines);
  const between = (fewest: number, most: number): number => fewest + Math.floor(random() * (most - fewest + 1));
  const leaves = Array.from({ length: spines }, (_, spine) => `${name}/${spine}`).flatMap((spine) =>
    Array.from({ length: between(2, 12) }, (_, leaf) => [`${spine}/${leaf}`, spine]),
  );
  const nodes = leaves.flatMap((switches) => Array.from({ length: between(1, 24) }, () => switches));
  return {
    name,
    gpusPerNode: 8,
    nodes: nodes.map((switches, index) => aFabricNode({ name: `n${index}`, switches })),
  };
}

/** Racks of 18 nodes with 4 GPUs, each an NVLink domain below a leaf of its own. */
export function nvl72(name: string, [spines, racks]: readonly [number, number]): BenchFabric {
  const nodes = treeOf([spines, racks, 18], name).map((switches, index) =>
    aFabricNode({ name: `n${index}`, gpus: 4, switches, nvlinkDomain: `rack ${switches[0] ?? ''}` }),
  );
  return { name, gpusPerNode: 4, nodes };
}

/** 40 % InfiniBand, 40 % RoCE, 20 % Ethernet, an island each. */
export function mixed(name: string, racks: number): BenchFabric {
  const islands = { infiniband: 0.4, roce: 0.4, ethernet: 0.2 };
  const nodes = Object.entries(islands).flatMap(([nicType, share]) =>
    treeOf([Math.ceil((racks * share) / 8), 8, 8], nicType).map((switches) => ({ nicType, switches })),
  );
  return {
    name,
    gpusPerNode: 8,
    nodes: nodes.map(({ nicType, switches }, index) =>
      aFabricNode({ name: `n${index}`, island: nicType, nicType, switches }),
    ),
  };
}

/** The fabric with names dealt anew, and `share` of its nodes taken by jobs of 1 to 16 nodes that stand side by side, scattered. */
export function loaded(fabric: BenchFabric, share: number, seed: number): FabricCapacity {
  const random = randomFrom(seed);
  const names = shuffled(
    fabric.nodes.map((_, index) => index),
    random,
  );
  const nodes = fabric.nodes.map((node, index) => {
    const name = `node-${String(names[index]).padStart(5, '0')}`;
    return { ...node, name, ...(node.nvlinkDomain.startsWith('node:') ? { nvlinkDomain: `node:${name}` } : {}) };
  });
  const used: Record<string, number> = {};
  const wanted = Math.round(share * nodes.length);
  for (let taken = 0; taken < wanted;) {
    const first = Math.floor(random() * nodes.length);
    const size = 2 ** Math.floor(random() * 5);
    for (let at = first; at < Math.min(nodes.length, first + size) && taken < wanted; at++) {
      const { name, gpus } = nodes[at] ?? { name: '', gpus: 0 };
      if (used[name] !== undefined) continue;
      used[name] = gpus;
      taken++;
    }
  }
  return aFabricCapacity(
    nodes.toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    used,
  );
}

function shuffled(items: readonly number[], random: () => number): readonly number[] {
  const result = [...items];
  for (let at = result.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [result[at], result[other]] = [result[other] ?? 0, result[at] ?? 0];
  }
  return result;
}
