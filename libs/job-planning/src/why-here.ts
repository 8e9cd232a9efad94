/** Why do ranks sit where they do, in a sentence? What they are near to, and what they send over what lies between. */
import type { Fabric, FabricNode, LayoutTraffic, PlacedGang } from '@coxswain/fabric';
import { assumedReachSentence, crossingBytes, namedSwitch } from '@coxswain/fabric';
import { formatBytes } from '@coxswain/units';

/** Longest in status. */
const MOST_CHARACTERS = 512;

/** Such as: `In 2 racks of one island: a step sends 24 GiB between nodes, 3 GiB of it between racks.` Takes 50 ms for 16,384 ranks. */
export function whyHere(traffic: LayoutTraffic, { nodes, ranksPerPod }: PlacedGang, fabric: Fabric): string {
  const byName = new Map(fabric.nodes.map((node) => [node.name, node]));
  const members = nodes.flatMap((name) => byName.get(name) ?? []);
  if (members.length < 2 || members.length < nodes.length) return '';
  const ranks = Math.max(-1, ...traffic.byKind.flatMap(({ groups }) => groups.map((group) => group.at(-1) ?? -1))) + 1;
  const nodeOfRank = Array.from({ length: ranks }, (_, rank) => nodes[Math.floor(rank / ranksPerPod)] ?? '');
  const bytes = crossingBytes(traffic, nodeOfRank, fabric);
  const assumed = traffic.source === 'assumed' ? ', if it is like a usual model' : '';
  const parts = [
    `${formatBytes(bytes.node)} between nodes`,
    ...(haveLeafSwitches(members) && bytes.leaf > 0 ? [`${formatBytes(bytes.leaf)} of it between racks`] : []),
    ...(bytes.island > 0 ? [`${formatBytes(bytes.island)} between islands`] : []),
  ];
  const where = `${placeOf(members)}: a step sends ${parts.join(', ')}${assumed}.`;
  return [where, assumedReachSentence(members) ?? []].flat().join(' ').slice(0, MOST_CHARACTERS);
}

function placeOf(nodes: readonly FabricNode[]): string {
  const islands = counted(nodes, ({ island }) => island, 'island');
  const domains = counted(nodes, ({ nvlinkDomain }) => nvlinkDomain, 'NVLink domain');
  const near = new Set(nodes.map(({ nvlinkDomain }) => nvlinkDomain)).size < nodes.length ? `${domains}, ` : '';
  const racks = haveLeafSwitches(nodes) ? `${counted(nodes, ({ switches }) => switches[0] ?? '', 'rack')} of ` : '';
  return `In ${near}${racks}${islands}`;
}

/** A node with a label for its spine or zone alone is in an unnamed rack. */
function haveLeafSwitches(nodes: readonly FabricNode[]): boolean {
  return nodes.every(({ switches }) => namedSwitch(switches, 0) !== undefined);
}

function counted(nodes: readonly FabricNode[], nameOf: (node: FabricNode) => string, noun: string): string {
  const count = new Set(nodes.map(nameOf)).size;
  return `${count === 1 ? 'one' : count} ${noun}${count === 1 ? '' : 's'}`;
}
