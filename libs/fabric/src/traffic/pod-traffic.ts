/** What do the first pods of a gang send each other between their nodes? */
import type { GangShape } from './gang-shape.ts';
import type { GroupTraffic, LayoutTraffic } from './traffic.ts';

type Pattern = GroupTraffic['pattern'];

/**
 * For each number of pods, the traffic between that many first pods, with pods in place of ranks. Groups over the same pods are merged, and traffic
 * within a pod is left out. Ranks of a group ascend, so these are the beginnings of its walk.
 */
export function trafficOfFirstPods(shape: GangShape, { byKind, source }: LayoutTraffic): readonly LayoutTraffic[] {
  const walks = new Map<string, GroupTraffic>();
  for (const { kind, pattern, bytesPerPair, groups } of byKind) {
    for (const group of groups) {
      const pods = walkOf(
        pattern,
        group.map((rank) => Math.floor(rank / shape.ranksPerPod)),
      );
      const key = `${pattern} ${pods.join()}`;
      const bytes = bytesPerPair + (walks.get(key)?.bytesPerPair ?? 0);
      walks.set(key, { kind, pattern, bytesPerPair: bytes, groups: [pods] });
    }
  }
  return Array.from({ length: shape.pods + 1 }, (_, first) => ({
    source,
    byKind: [...walks.values()].flatMap((walk) => beginningOf(walk, first)),
  }));
}

/** A ring or chain that stays in a pod for a while sends nothing out of it. */
function walkOf(pattern: Pattern, pods: readonly number[]): readonly number[] {
  return pattern === 'allToAll' ? pods : pods.filter((pod, at) => pod !== pods[at - 1]);
}

function beginningOf(walk: GroupTraffic, pods: number): readonly GroupTraffic[] {
  const groups = walk.groups.map((group) => group.filter((pod) => pod < pods));
  return groups.every((group) => new Set(group).size > 1) ? [{ ...walk, groups }] : [];
}
