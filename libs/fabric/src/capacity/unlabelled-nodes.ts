/** What becomes of nodes that do not say on which network they are, beside others that do? */
import { NODE_LABELS } from '@coxswain/api-types';
import type { Fabric, FabricNode } from '../nodes/fabric.ts';
import { isUnlabelled } from '../nodes/island-names.ts';
import { byText } from './islands.ts';

/**
 * Why such nodes are an island of their own, and what to do, in a sentence; undefined where all nodes say it, or none does. They may be on the network
 * of the others, but nothing says so, and a gang over two networks that do not connect fails at its first collective, while a label is soon written.
 */
export function unlabelledSentence(fabric: Fabric): string | undefined {
  const { other, without } = apartIn(fabric);
  if (other === undefined || without.size === 0) return undefined;
  return (
    `No label of ${without.size} of ${fabric.nodes.length} nodes says on which network they are, so they count as apart from the others: ` +
    `nothing says that their NICs reach those of island ${other.island}. Where they do, ${asTheOthers(other, 'them')}.`
  );
}

/** The same nodes, were those that do not say it on the network that most say; undefined where all nodes say it, or none does. */
export function onOneNetwork(fabric: Fabric): Fabric | undefined {
  const { other, without } = apartIn(fabric);
  if (other === undefined || without.size === 0) return undefined;
  const { island } = other;
  return { nodes: fabric.nodes.map((node) => (without.has(node) ? { ...node, island } : node)) };
}

/** What to do with such nodes so that they count as on the network that most say; empty where nobody says any. */
export function joinByLabel(fabric: Fabric): string {
  const { other } = apartIn(fabric);
  return other === undefined ? '' : asTheOthers(other, 'nodes that do not say on which network they are');
}

interface Apart {
  /** A labelled node of the largest island. */
  readonly other: FabricNode | undefined;
  /** Those that may be on its network: what class of NICs they have does not speak against it. */
  readonly without: ReadonlySet<FabricNode>;
}

function apartIn({ nodes }: Fabric): Apart {
  const byIsland = Map.groupBy(
    nodes.filter(({ island }) => !isUnlabelled(island)),
    ({ island }) => island,
  );
  const [largest] = [...byIsland].sort(
    ([one, members], [other, others]) => others.length - members.length || byText(one, other),
  );
  const [other] = largest?.[1] ?? [];
  const isOfClass = ({ nicType }: FabricNode): boolean =>
    nicType === undefined || other?.nicType === undefined || nicType.toLowerCase() === other.nicType.toLowerCase();
  return { other, without: new Set(nodes.filter((node) => isUnlabelled(node.island) && isOfClass(node))) };
}

function asTheOthers({ island, readFrom }: FabricNode, them: string): string {
  const ours = NODE_LABELS.nicIsland;
  const isDeclared = readFrom?.island === undefined || readFrom.island.endsWith(ours);
  // If classes of NICs are separate islands below one root, the name of the island has the class behind a colon, and a node needs both to be in it.
  const [label = island, nicType] = island.split(':');
  const labels =
    nicType === undefined ? `the label ${label} too` : `the labels ${label} and ${NODE_LABELS.nicType}=${nicType} too`;
  return isDeclared
    ? `give ${them} the label ${ours}=${island}, or that island in the Fabric resource`
    : `give ${them} ${labels}, or all nodes one ${ours}`;
}
