/**
 * Checks that the nodes of a gang have equally many NICs. By default NCCL ignores a difference and then waits for channels that the other ranks do
 * not open (NVIDIA/nccl issue 2428), so such a gang is not started.
 */
import type { FabricCapacity, FabricNode } from '../nodes/fabric.ts';
import type { GangRequest } from '../traffic/gang-shape.ts';
import { byText } from './islands.ts';

/** Over sockets the number of NICs counts for nothing. */
export function needsEqualNics({ acrossIslands }: GangRequest): boolean {
  return acrossIslands !== 'anyGroup';
}

/** Nodes by what they have, the number of most nodes first; undefined where all that is known is one number. */
function byNicCount(nodes: readonly FabricNode[]): ReadonlyMap<number, readonly FabricNode[]> | undefined {
  const known = nodes.flatMap((node) => (node.nicCount === undefined ? [] : [{ node, count: node.nicCount }]));
  const groups = [...Map.groupBy(known, ({ count }) => count)];
  if (groups.length < 2) return undefined;
  return new Map(
    groups
      .sort(([one, nodesOfOne], [other, nodesOfOther]) => nodesOfOther.length - nodesOfOne.length || other - one)
      .map(([count, members]) => [count, members.map(({ node }) => node)]),
  );
}

/** Nodes of a gang whose numbers of NICs are known and differ. */
export function unequalNics(
  names: readonly string[],
  { fabric }: FabricCapacity,
): ReadonlyMap<number, readonly FabricNode[]> | undefined {
  const chosen = new Set(names);
  return byNicCount(fabric.nodes.filter(({ name }) => chosen.has(name)));
}

/** The capacity without the nodes of other numbers, for each number in turn, that of most nodes first. */
export function capacitiesOfEqualNics(capacity: FabricCapacity): readonly FabricCapacity[] {
  const { nodes } = capacity.fabric;
  return [...(byNicCount(nodes)?.keys() ?? [])].map((count) => ({
    ...capacity,
    fabric: {
      nodes: nodes.map((node) =>
        node.nicCount === undefined || node.nicCount === count ? node : { ...node, usable: false },
      ),
    },
  }));
}

/** Which nodes have how many, and what to do; of each number a few by name. */
export function unequalNicsMessage(unequal: ReadonlyMap<number, readonly FabricNode[]>): string {
  const counts = [...unequal].map(([count, nodes]) => {
    const names = nodes.map(({ name }) => name).sort(byText);
    const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
    return `${count} on ${names.slice(0, MOST_NAMED).join(', ')}${more}`;
  });
  return (
    `The nodes that are free have unequal numbers of NICs, on which NCCL hangs: ${counts.join('; ')}. Mend or cordon those that lack some, ` +
    'or correct their label fabric.coxswain.dev/nic-count.'
  );
}

const MOST_NAMED = 3;
