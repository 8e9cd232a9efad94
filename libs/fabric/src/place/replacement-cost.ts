/** What do the groups of a few pods cost, for each choice of nodes for these? Only ranks that share a group with them are looked at. */
import { trafficOf } from '../traffic/assumed-traffic.ts';
import { weightedBytes } from '../traffic/boundary-weights.ts';
import { crossingBytes } from '../traffic/crossing-bytes.ts';
import type { Fabric, FabricNode } from '../nodes/fabric.ts';
import type { GangRequest, GangShape } from '../traffic/gang-shape.ts';
import type { GroupTraffic } from '../traffic/traffic.ts';

/**
 * Weighted bytes of every group that has a rank of these pods, where they get the nodes that are given, pod for pod. Pods without a node are left out. All
 * nodes are of the fabric, whose tiers are looked up once for all choices: looked up for each choice they took four fifths of the time.
 */
export function costAround(
  { request, fabric }: { readonly request: GangRequest; readonly fabric: Fabric },
  { ranksPerPod }: GangShape,
  { nodes, pods }: { readonly nodes: readonly (FabricNode | undefined)[]; readonly pods: readonly number[] },
): (chosen: readonly FabricNode[]) => number {
  const traffic = trafficOf(request);
  const moved = new Set(pods);
  const podOf = (rank: number): number => Math.floor(rank / ranksPerPod);
  const compact = new Map<number, number>();
  const place = (rank: number): number => {
    const known = compact.get(rank) ?? compact.size;
    compact.set(rank, known);
    return known;
  };
  const isThere = (rank: number): boolean => moved.has(podOf(rank)) || nodes[podOf(rank)] !== undefined;
  const byKind = traffic.byKind.flatMap((one): readonly GroupTraffic[] => {
    const touching = one.groups.filter((group) => group.some((rank) => moved.has(podOf(rank))));
    const present = touching.map((group) => group.filter(isThere)).filter(({ length }) => length > 1);
    // Groups on the same pods cost the same: of pods of eight ranks, one of eight is counted.
    const alike = [...Map.groupBy(present, (group) => group.map(podOf).join()).values()];
    return [...Map.groupBy(alike, ({ length }) => length)].map(([count, groups]) => ({
      ...one,
      bytesPerPair: one.bytesPerPair * count,
      // Their order is that of ranks all the same: groups are walked in it.
      groups: groups.flatMap(([group]) => (group === undefined ? [] : [group.map(place)])),
    }));
  });
  const ranks = [...compact.keys()];
  return (chosen) => {
    const nodeOf = new Map(pods.map((pod, index) => [pod, chosen[index]]));
    const onNodes = ranks.flatMap((rank) => nodeOf.get(podOf(rank)) ?? nodes[podOf(rank)] ?? []);
    return weightedBytes(
      crossingBytes(
        { ...traffic, byKind },
        onNodes.map(({ name }) => name),
        fabric,
      ),
    );
  };
}
