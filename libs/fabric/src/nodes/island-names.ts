import { ZONE_LABEL } from './dialects.ts';
import type { NodeReading } from './node-reading.ts';

/** Name of the island that holds every node that says neither a NIC fabric nor, where there are several, a class of NICs. */
const UNLABELLED_ISLAND = 'unlabelled';

/** Whether nobody says on which network the nodes of the island are, whatever class of NICs they have. */
export function isUnlabelled(island: string): boolean {
  return island === UNLABELLED_ISLAND || island.startsWith(`${UNLABELLED_ISLAND}:`);
}

/**
 * The island of each node, in the order of the readings. It is the declared one. Otherwise it is the nodes below one root of the switch tree with
 * one class of NICs, because InfiniBand and RoCE cannot connect. If labels report one class below a root, all its nodes have it: labels arrive node
 * by node. If they report several, nodes without a reported class are an island of their own, because they may reach no other.
 */
export function namesOfIslands(readings: readonly NodeReading[]): readonly string[] {
  const borders = new Set(readings.flatMap(({ root }) => (root?.key === ZONE_LABEL ? [root.value] : [])));
  const nameOfRoot = (reading: NodeReading): string => nameOfNetwork(reading, borders);
  const classes = new Map<string, Set<string>>();
  for (const reading of readings) {
    if (reading.declaredIsland !== undefined || reading.nicType === undefined) continue;
    const root = nameOfRoot(reading);
    classes.set(root, (classes.get(root) ?? new Set()).add(reading.nicType.value));
  }
  return readings.map((reading) => {
    if (reading.declaredIsland !== undefined) return reading.declaredIsland.value;
    const root = nameOfRoot(reading);
    const isMixed = (classes.get(root)?.size ?? 0) > 1;
    // A label's value cannot contain a colon, so nobody can declare such an island.
    return isMixed && reading.nicType !== undefined ? `${root}:${reading.nicType.value}` : root;
  });
}

/** `borders`: zones that are the border of a network. A node in such a zone is on that network even if it has no label of its switches yet. */
function nameOfNetwork({ root, places: [zone] }: NodeReading, borders: ReadonlySet<string>): string {
  const network = root ?? (zone !== undefined && borders.has(zone.value) ? zone : undefined);
  return network === undefined ? UNLABELLED_ISLAND : `${network.key}=${network.value}`;
}
