import { packWithin } from '../capacity/across-islands.ts';
import { trafficOf } from '../traffic/assumed-traffic.ts';
import { bestOfAll, canTryAll, type FewPods } from './best-placement.ts';
import { leastBetweenParts } from '../traffic/between-parts.ts';
import type { FabricCapacity } from '../nodes/fabric.ts';
import { type GangRequest, gangShape } from '../traffic/gang-shape.ts';
import { placementCost } from './least-crossing.ts';
import { fixedBytes, lowerBound } from '../bound/lower-bound.ts';
import { openByType } from '../capacity/open-by-type.ts';
import { freeGpusOf, openNodes } from '../capacity/open-nodes.ts';
import { type SegmentedRequest, stageSegments, withoutCutRings } from '../traffic/stage-segments.ts';
import type { LayoutTraffic } from '../traffic/traffic.ts';

/**
 * The least weighted bytes that any placement of the gang with so many ranks in a pod could have now, as `weightedBytes` counts them. None need reach it;
 * docs/reference/placement.md says how it is proved. `known`: nodes, pod by pod, of a placement that there is; the bound is brought up to what it costs,
 * if it can be.
 */
export function leastWeightedBytes(
  request: GangRequest,
  ranksPerPod: number,
  capacity: FabricCapacity,
  known?: readonly string[],
): number {
  const { layout, acrossIslands = 'never', stageGpus } = request;
  const traffic = trafficOf(request);
  if (stageGpus !== undefined) return leastOfSegments({ ...request, traffic, stageGpus }, ranksPerPod, capacity, known);
  const shape = gangShape(layout, ranksPerPod);
  const question = { shape, traffic, open: openNodes(capacity), acrossIslands };
  if (known === undefined) return lowerBound(question);
  const cost = placementCost({ shape, traffic, fabric: capacity.fabric }, known);
  const least = lowerBound({ ...question, known: cost });
  if (least * EQUAL >= cost) return least;
  return Math.max(least, leastOfFewPods({ ...question, fabric: capacity.fabric, known: cost }) ?? 0);
}

const EQUAL = 1 + 1e-9;
const MOST_TRIES = 30_000;

/** What the best placement costs, where these are so few that each can be looked at: of pods that cut stages the bound knows little. */
function leastOfFewPods(question: FewPods): number | undefined {
  const { shape, open, acrossIslands, known } = question;
  if (!canTryAll(question)) return undefined;
  const sets = openByType({ shape, open, acrossIslands });
  let least = known;
  for (const alike of sets) {
    // Several islands only where no single one holds the gang.
    const ofType = alike.map(({ node }) => node);
    const holdsIt = packWithin('never', shape, ofType, freeGpusOf(alike)) !== undefined;
    const asked = { ...question, open: alike, acrossIslands: holdsIt ? 'never' : acrossIslands } as const;
    const { cost, isWhole } = bestOfAll(asked, MOST_TRIES / sets.length);
    if (!isWhole) return undefined;
    least = Math.min(least, cost);
  }
  return least;
}

/** What each part costs at least on nodes of its type, and what parts send each other at least. */
function leastOfSegments(
  request: SegmentedRequest & { readonly traffic: LayoutTraffic },
  ranksPerPod: number,
  capacity: FabricCapacity,
  known: readonly string[] | undefined,
): number {
  const { layout, traffic, ...rest } = request;
  const parts = stageSegments({ ...rest, layout, traffic: withoutCutRings(traffic, request) }, capacity);
  const apart = parts.map(({ firstRank, capacity: { fabric } }) => ({ firstRank, nodes: fabric.nodes }));
  let least = fixedBytes(gangShape(layout, ranksPerPod), traffic) + leastBetweenParts(traffic, apart);
  for (const { request: part, capacity: own, firstRank } of parts) {
    const shape = gangShape(part.layout, ranksPerPod);
    const firstPod = firstRank / ranksPerPod;
    const nodes = known?.slice(firstPod, firstPod + shape.pods);
    least += leastWeightedBytes(part, ranksPerPod, own, nodes) - fixedBytes(shape, trafficOf(part));
  }
  return least;
}
