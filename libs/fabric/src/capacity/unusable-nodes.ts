/** Which nodes take no pods, why, and would the gang start if they did? */
import { type FabricCapacity, type FabricNode, gpusOf, type WhyUnusable } from '../nodes/fabric.ts';
import { partitionPoint } from './partition-point.ts';

const WORDS: Readonly<Record<WhyUnusable, string>> = {
  cordoned: 'cordoned',
  tainted: 'tainted',
  cordonedAndTainted: 'cordoned and tainted',
  notReady: 'not ready',
};

/** A sentence with a space before it; empty where every node takes pods. */
export function unusableSentence(nodes: readonly FabricNode[]): string {
  const reasons = (Object.keys(WORDS) as WhyUnusable[])
    .map((reason) => ({ reason, members: unusableBy(nodes, [reason]) }))
    .filter(({ members }) => members.length > 0);
  if (reasons.length === 0) return '';
  const gpus = gpusOf(reasons.flatMap(({ members }) => members));
  const shown = reasons.map(
    ({ reason, members }) => `${named(members)} ${members.length === 1 ? 'is' : 'are'} ${WORDS[reason]}`,
  );
  return ` ${gpus} ${gpus === 1 ? 'is' : 'are'} on nodes that take no pods: ${shown.join('; ')}.`;
}

/**
 * The fewest nodes that would have to take pods again, by what is the least to ask: nobody can ask that a node is ready. Undefined where all of them
 * together would not do.
 */
export function nodesToLetIn(
  capacity: FabricCapacity,
  willFit: (capacity: FabricCapacity) => boolean,
): string | undefined {
  for (const reasons of [['cordoned'], ['tainted'], ['cordoned', 'tainted']] as const) {
    const nodes = reasons.flatMap((reason) => unusableBy(capacity.fabric.nodes, [reason]));
    const count = partitionPoint((number) => willFit(withLetIn(capacity, nodes.slice(0, number))), nodes.length);
    if (count !== undefined) return toLetIn(nodes.slice(0, count));
  }
  return undefined;
}

function toLetIn(nodes: readonly FabricNode[]): string {
  const changes = [
    ['uncordon', unusableBy(nodes, ['cordoned'])],
    ['remove the taints of', unusableBy(nodes, ['tainted'])],
  ] as const;
  return changes
    .filter(([, members]) => members.length > 0)
    .map(([verb, members]) => `${verb} ${members.length} node${members.length === 1 ? '' : 's'} (${named(members)})`)
    .join(' and ');
}

function withLetIn(capacity: FabricCapacity, nodes: readonly FabricNode[]): FabricCapacity {
  const names = new Set(nodes.map(({ name }) => name));
  const all = capacity.fabric.nodes.map((node) => (names.has(node.name) ? { ...node, usable: true } : node));
  return { ...capacity, fabric: { nodes: all } };
}

function unusableBy(nodes: readonly FabricNode[], reasons: readonly WhyUnusable[]): readonly FabricNode[] {
  return nodes.filter(
    ({ usable, whyUnusable }) => !usable && whyUnusable !== undefined && reasons.includes(whyUnusable),
  );
}

const MOST_NAMES = 3;

function named(nodes: readonly FabricNode[]): string {
  const names = nodes.slice(0, MOST_NAMES).map(({ name }) => name);
  const more = nodes.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}
