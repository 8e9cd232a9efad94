import type { RankMap, RankNode, RankPlace } from '@coxswain/api-types';
import { type Fabric, type FabricNode, isInOwnDomain } from '@coxswain/fabric';

type Facts = Omit<RankNode, 'name'>;

/**
 * The rank map with the current facts of each node, each stored once: for 16,384 ranks the switches alone would double the answer. For nodes that
 * are not observed, or facts that are not reported, the recorded values stay. A map without switches is better than none.
 */
export function withSeenNodes({ items, ...map }: RankMap, fabric: Fabric | undefined): RankMap {
  const recorded = new Map(items.map((place) => [place.node, place]));
  const seen = new Map(fabric?.nodes.filter(({ name }) => recorded.has(name)).map((node) => [node.name, node]));
  const nodes = [...recorded].map(([name, place]) => ({ name, ...factsOf(place, seen.get(name)) }));
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return {
    ...map,
    nodes,
    items: items.map((place) => {
      const { nvlinkDomain = null, island = null, nicType = null } = byName.get(place.node) ?? {};
      return { ...place, nvlinkDomain, island, nicType };
    }),
  };
}

function factsOf(recorded: RankPlace, seen: FabricNode | undefined): Facts {
  const domain = seen === undefined || isInOwnDomain(seen) ? undefined : seen.nvlinkDomain;
  return {
    nvlinkDomain: domain ?? recorded.nvlinkDomain,
    island: seen?.island ?? recorded.island,
    nicType: seen?.nicType ?? recorded.nicType,
    switches: [...(seen?.switches ?? [])],
  };
}
