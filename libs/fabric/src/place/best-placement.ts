import { weightedBytes } from '../traffic/boundary-weights.ts';
import { crossingBytes } from '../traffic/crossing-bytes.ts';
import type { Fabric } from '../nodes/fabric.ts';
import { type AcrossIslands, type GangShape, ranksInDomain } from '../traffic/gang-shape.ts';
import { bytesBetweenRuns, fixedBytes } from '../bound/lower-bound.ts';
import type { OpenNode } from '../capacity/open-nodes.ts';
import { type Place, placeTree } from '../units/place-tree.ts';
import { trafficOfFirstPods } from '../traffic/pod-traffic.ts';
import { areDomainsSplit, wholeDomain } from '../units/switch-tree.ts';
import type { LayoutTraffic } from '../traffic/traffic.ts';

/** A gang of few pods, and where it may be. */
export interface FewPods {
  readonly shape: GangShape;
  readonly traffic: LayoutTraffic;
  readonly acrossIslands: AcrossIslands;
  readonly open: readonly OpenNode[];
  /** By which crossing bytes are judged. */
  readonly fabric: Fabric;
  /** Weighted bytes of a placement that there is. */
  readonly known: number;
}

/** Result of the search over all placements of a small gang. */
export interface BestOfAll {
  /** Weighted bytes of the best that was found, or `known`. */
  readonly cost: number;
  /** Node by pod; absent: nothing that was looked at is cheaper than what is known. */
  readonly nodes?: readonly string[];
  /** Nothing is cheaper: all placements were looked at. */
  readonly isWhole: boolean;
}

/** Of more pods there are too many placements. */
const MOST_PODS = 8;

/** Whether all placements can be looked at: so few pods, and each domain below one switch of each tier. */
export function canTryAll({ shape, open }: Pick<FewPods, 'shape' | 'open'>): boolean {
  return (
    shape.pods <= MOST_PODS &&
    !areDomainsSplit(
      open.map(({ node }) => node),
      wholeDomain,
    )
  );
}

/**
 * The best placement there is, where {@link canTryAll} and so many tries are enough. Every placement is looked at, but
 *
 * - places with the same signature and no pod yet are tried once (`place-tree.ts`);
 * - what the first pods send each other between their nodes costs no less when the others follow. If the last members of a ring are left out, its new
 *   neighbours are no farther from each other than both were from what lay between them. So pods that already cost as much as the best known placement
 *   are not continued.
 *
 * `mostTries`: beginnings that are priced.
 */
export function bestOfAll(question: FewPods, mostTries: number): BestOfAll {
  const { shape } = question;
  const beyondNodes = pricer(question);
  const mayBe = rulesOf(question);
  const root = placeTree(shape, question.open, question.fabric);
  const fixed = fixedBytes(shape, question.traffic);
  const used = new Map<Place, number>();
  let best: Pick<BestOfAll, 'cost' | 'nodes'> = { cost: question.known };
  let tries = 0;
  /** Domains of the pods so far, and their nodes. */
  const follow = (domains: readonly Place[], nodes: readonly string[]): void => {
    const isLast = domains.length === shape.pods - 1;
    for (const path of pathsTo(root, used, isLast)) {
      const domain = path.at(-1);
      if (domain === undefined || !mayBe(domains, domain)) continue;
      if (++tries > mostTries) return;
      const chosen = [...nodes, nextNodeOf(domain, used.get(domain) ?? 0, isLast)];
      const cost = fixed + beyondNodes(chosen);
      if (cost * EQUAL >= best.cost) continue;
      if (isLast) best = { cost, nodes: chosen };
      else {
        for (const place of path) used.set(place, (used.get(place) ?? 0) + 1);
        follow([...domains, domain], chosen);
        for (const place of path) used.set(place, (used.get(place) ?? 0) - 1);
      }
    }
  };
  follow([], []);
  return { ...best, isWhole: tries <= mostTries };
}

const EQUAL = 1 + 1e-9;

/** A smaller last pod goes where only it has room, if its domain has such a node. */
function nextNodeOf({ nodes, roomy }: Place, taken: number, isLast: boolean): string {
  return nodes[isLast && nodes.length > roomy ? roomy : taken] ?? '';
}

/** The ways down to domains with room for one more pod: through places that have pods, and one place of each signature without pods. */
function pathsTo(place: Place, used: ReadonlyMap<Place, number>, isLast: boolean): readonly (readonly Place[])[] {
  if (place.inside.length === 0) {
    const room = isLast ? place.nodes.length : place.roomy;
    return (used.get(place) ?? 0) < room ? [[place]] : [];
  }
  const paths: (readonly Place[])[] = [];
  for (const alike of place.inside) {
    for (const one of alike) {
      for (const path of pathsTo(one, used, isLast)) paths.push([place, ...path]);
      // Those that have pods stand first.
      if ((used.get(one) ?? 0) === 0) break;
    }
  }
  return paths;
}

/** What the first pods send each other costs where they are on these nodes, but for what crosses nodes wherever they are. */
function pricer({ shape, traffic, open, fabric }: FewPods): (nodes: readonly string[]) => number {
  const ofFirst = trafficOfFirstPods(shape, traffic);
  const domains = Map.groupBy(
    open.filter(({ free }) => free >= shape.lastPodRanks),
    ({ node }) => node.nvlinkDomain,
  );
  const isEachAlone = [...domains.values()].every((members) => members.length === 1);
  // Then it crosses domains wherever the others go.
  const overDomains = isEachAlone ? bytesBetweenRuns(traffic, shape.ranksPerPod) : undefined;
  return (nodes) => {
    const crossing = crossingBytes(ofFirst[nodes.length] ?? traffic, nodes, fabric);
    return weightedBytes({ ...crossing, gpu: 0, node: 0, nvlinkDomain: overDomains ?? crossing.nvlinkDomain });
  };
}

/** Whether the next pod may be there: its tensor groups in one domain and what may not cross islands in one island, by the ranks of each group. */
function rulesOf({ shape, acrossIslands }: FewPods): (domains: readonly Place[], next: Place) => boolean {
  const { layout, ranksPerPod, worldSize } = shape;
  const stage = worldSize / layout.pipelineParallelDegree;
  const ranksOfIsland = { never: worldSize, pipeline: stage, anyGroup: 1 }[acrossIslands];
  return (domains, next) => {
    const first = domains.length * ranksPerPod;
    const before = (size: number): Place | undefined =>
      first % size === 0 ? undefined : domains[Math.floor((first - (first % size)) / ranksPerPod)];
    return (
      (before(ranksInDomain(layout)) ?? next) === next && (before(ranksOfIsland)?.island ?? next.island) === next.island
    );
  };
}
