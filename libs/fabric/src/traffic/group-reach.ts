import type { Fabric } from '../nodes/fabric.ts';
import { type FabricTiers, tiersOf } from './fabric-tiers.ts';
import { BOUNDARIES, type Boundary, type GroupTraffic, type LayoutTraffic } from './traffic.ts';

/** How far the groups of one kind reach in a placement. */
export interface GroupReach extends Omit<GroupTraffic, 'groups'> {
  readonly groups: number;
  /** Members of the largest. */
  readonly members: number;
  /** Groups by the farthest boundary between two of their members; boundaries without any are left out. `gpu`: within a node. */
  readonly farthest: Readonly<Partial<Record<Boundary, number>>>;
}

/** Where each kind of group sits, rank `r` being on `nodeOfRank[r]`; ranks on nodes that the fabric lacks throw a RangeError. */
export function groupReach(
  traffic: LayoutTraffic,
  nodeOfRank: readonly string[],
  fabric: Fabric,
): readonly GroupReach[] {
  const tiers = tiersOf(fabric);
  const indexOfRank = nodeOfRank.map((name) => {
    const index = tiers.indexOfNode.get(name);
    if (index === undefined) throw new RangeError(`node ${name} is not in the fabric`);
    return index;
  });
  return traffic.byKind.map(({ groups, ...traffic }) => {
    const counts = new Map<Boundary, number>();
    let members = 0;
    for (const group of groups) {
      members = Math.max(members, group.length);
      const farthest = farthestWithin(
        group.map((rank) => indexOfRank[rank] ?? 0),
        tiers,
      );
      counts.set(farthest, (counts.get(farthest) ?? 0) + 1);
    }
    const farthest = Object.fromEntries(
      BOUNDARIES.flatMap((one) => [[one, counts.get(one) ?? 0] as const]).filter(([, count]) => count > 0),
    );
    return { ...traffic, groups: groups.length, members, farthest };
  });
}

/** The nearest place that holds all members: what they share decides, so that of members in one NVLink domain no switch is asked. */
function farthestWithin(nodes: readonly number[], { domainOf, beyond }: FabricTiers): Boundary {
  const share = (classOf: (node: number) => number | undefined): boolean =>
    nodes.every((node) => classOf(node) === classOf(nodes[0] ?? 0));
  const places = [
    (node: number) => node,
    (node: number) => domainOf[node],
    ...beyond.map(
      ({ switchOf }) =>
        (node: number) =>
          switchOf[node],
    ),
  ];
  const nearest = places.findIndex(share);
  return BOUNDARIES[nearest < 0 ? places.length : nearest] ?? 'island';
}
