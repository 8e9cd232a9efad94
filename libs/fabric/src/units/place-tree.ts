/** Which places of a fabric are alike for a gang of few pods? */
import type { Fabric } from '../nodes/fabric.ts';
import { tiersOf } from '../traffic/fabric-tiers.ts';
import type { GangShape } from '../traffic/gang-shape.ts';
import { byText } from '../capacity/islands.ts';
import type { OpenNode } from '../capacity/open-nodes.ts';

/** An NVLink domain, a switch, an island, or all of them. */
export interface Place {
  /** Places of one level with the same signature are interchangeable for the gang, at the same cost. */
  readonly signature: number;
  /** Places in it that may be of use, grouped by signature: the most capable first, and within a group the one with least spare room first. Empty for a domain. */
  readonly inside: readonly (readonly Place[])[];
  /** Of a domain: as many nodes as the gang could use that have room for any pod, then one that has room for the last alone. Empty for other places. */
  readonly nodes: readonly string[];
  /** How many nodes have room for any pod; of a domain, of those above. */
  readonly roomy: number;
  /** Nodes with room for a pod, more than the gang could use too. */
  readonly size: number;
  /** The number of its island; of all islands together that of one of them. */
  readonly island: number;
}

interface AbleNode {
  readonly name: string;
  readonly free: number;
  /** In the fabric. */
  readonly index: number;
}

/**
 * Islands, switches from core to leaf, and domains that have room for a pod, with the boundaries between nodes that `fabric-tiers.ts` distinguishes.
 * Each domain has to be below one switch of each tier.
 *
 * A gang of so few pods is in no more places than it has pods. So more nodes of a domain than that make no difference. A place is left out too if
 * as many others can do all that it can: if it held pods, one of the others would hold none, and could take them at the same cost.
 */
export function placeTree(shape: GangShape, open: readonly OpenNode[], fabric: Fabric): Place {
  const { indexOfNode, domainOf, beyond } = tiersOf(fabric);
  const able = open
    .filter(({ free }) => free >= shape.lastPodRanks)
    .map(({ node: { name }, free }) => ({ name, free, index: indexOfNode.get(name) ?? 0 }))
    // What fits tightest is taken first, and leaves whole nodes whole.
    .sort((one, other) => one.free - other.free || byText(one.name, other.name));
  const classes = [...beyond.map(({ switchOf }) => switchOf).reverse(), domainOf];
  return placeOf({ shape, classes, signatures: new Map() }, able, 0);
}

interface Builder {
  readonly shape: GangShape;
  /** Island, core, spine, leaf and domain of each node. */
  readonly classes: readonly Int32Array[];
  readonly signatures: Map<string, number>;
}

function placeOf(builder: Builder, able: readonly AbleNode[], level: number): Place {
  const { shape, classes } = builder;
  const island = classes[0]?.[able[0]?.index ?? 0] ?? 0;
  const size = able.length;
  const next = classes[level];
  if (next === undefined) {
    const { nodes, roomy } = nodesOf(able, shape);
    return {
      signature: signatureOf(builder, `${Math.min(nodes.length, shape.pods)} ${roomy}`),
      inside: [],
      nodes,
      roomy,
      size,
      island,
    };
  }
  const places = [...Map.groupBy(able, ({ index }) => next[index] ?? 0).values()].map((members) =>
    placeOf(builder, members, level + 1),
  );
  const inside = usefulOf(places, shape.pods);
  const words = inside.map((alike) => `${alike.length}x${alike[0]?.signature ?? 0}`);
  const roomy = places.reduce((sum, place) => sum + place.roomy, 0);
  return { signature: signatureOf(builder, `${level}: ${words.join()}`), inside, nodes: [], roomy, size, island };
}

function nodesOf(able: readonly AbleNode[], { pods, ranksPerPod }: GangShape): Pick<Place, 'nodes' | 'roomy'> {
  const roomy = able.filter(({ free }) => free >= ranksPerPod).slice(0, pods);
  const forLast = able.filter(({ free }) => free < ranksPerPod).slice(0, 1);
  return { nodes: [...roomy, ...forLast].map(({ name }) => name), roomy: roomy.length };
}

/** By signature; of each no more than are of use beside those that can do all that it can. */
function usefulOf(places: readonly Place[], pods: number): readonly (readonly Place[])[] {
  const tightestFirst = places.toSorted((one, other) => one.size - other.size);
  const bySignature = [...Map.groupBy(tightestFirst, ({ signature }) => signature).values()].sort(
    ([one], [other]) => (other?.roomy ?? 0) - (one?.roomy ?? 0) || (one?.signature ?? 0) - (other?.signature ?? 0),
  );
  const useful: (readonly Place[])[] = [];
  for (const alike of bySignature) {
    const better = useful.filter(([one]) => one !== undefined && alike[0] !== undefined && canDoAllOf(one, alike[0]));
    const kept = alike.slice(0, Math.max(0, pods - better.reduce((sum, others) => sum + others.length, 0)));
    if (kept.length > 0) useful.push(kept);
  }
  return useful;
}

/** Whether each place inside the other has one of its own here that can do all that it can, as far as their order shows it. */
function canDoAllOf(one: Place, other: Place): boolean {
  if (one.signature === other.signature) return true;
  if (one.inside.length === 0) return one.roomy >= other.roomy && one.nodes.length >= other.nodes.length;
  const own = one.inside.flat();
  return other.inside.flat().every((place, at) => {
    const counterpart = own[at];
    return counterpart !== undefined && canDoAllOf(counterpart, place);
  });
}

function signatureOf({ signatures }: Builder, words: string): number {
  const known = signatures.get(words) ?? signatures.size;
  signatures.set(words, known);
  return known;
}
