import type { FabricStatus } from '@coxswain/api-types';
import { FABRIC_FACTS, type Fabric, type FabricNode, gpusOf } from './fabric.ts';
import { namedSwitch } from './place-name.ts';

/** The most islands and sources that are listed; the number of islands counts all. */
const MOST_LISTED = 64;

/** What a status tells of a fabric. The same for the same nodes, so that nothing is written where nothing changed. */
export function summarize({ nodes }: Fabric): Omit<FabricStatus, 'problems' | 'conditions'> {
  const islands = Map.groupBy(nodes, ({ island }) => island);
  const domains = Map.groupBy(nodes, ({ nvlinkDomain }) => nvlinkDomain);
  const depth = nodes.reduce((most, { switches }) => Math.max(most, switches.length), 0);
  return {
    nodes: nodes.length,
    gpus: gpusOf(nodes),
    nvlinkDomains: [...domains.values()].filter((members) => members.length > 1).length,
    islandCount: islands.size,
    islands: [...islands]
      .map(([name, members]) => ({ name, nodes: members.length, gpus: gpusOf(members) }))
      .sort((one, other) => other.gpus - one.gpus || (one.name < other.name ? -1 : 1))
      .slice(0, MOST_LISTED),
    switches: Array.from({ length: depth }, (_, tier) => countTier(nodes, tier)),
    nodesWithoutSwitches: nodes.filter(({ switches }) => switches.length === 0).length,
    sources: sourcesOf(nodes),
  };
}

function countTier(nodes: readonly FabricNode[], tier: number): number {
  return new Set(nodes.flatMap(({ switches }) => namedSwitch(switches, tier) ?? [])).size;
}

function sourcesOf(nodes: readonly FabricNode[]): FabricStatus['sources'] {
  return FABRIC_FACTS.flatMap((fact) => {
    const byKey = new Map<string, number>();
    for (const { readFrom } of nodes) {
      const key = readFrom?.[fact];
      if (key !== undefined) byKey.set(key, (byKey.get(key) ?? 0) + 1);
    }
    return [...byKey]
      .map(([key, count]) => ({ fact, key, nodes: count }))
      .sort((one, other) => other.nodes - one.nodes || (one.key < other.key ? -1 : 1));
  }).slice(0, MOST_LISTED);
}
