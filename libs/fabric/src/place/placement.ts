import { worldSize } from '@coxswain/layout';
import { capacitiesOfOneClass, packWithin } from '../capacity/across-islands.ts';
import { trafficOf } from '../traffic/assumed-traffic.ts';
import { capacitiesOfEqualNics, needsEqualNics, unequalNics, unequalNicsMessage } from '../capacity/equal-nics.ts';
import { type Fabric, type FabricCapacity, gpusOf } from '../nodes/fabric.ts';
import {
  type AcrossIslands,
  type GangRequest,
  type GangShape,
  gangShape,
  ranksInDomain,
} from '../traffic/gang-shape.ts';
import { leastCrossing } from './least-crossing.ts';
import { freeGpusOf, gpusFreeOf, nodesInReserve, openNodes, withTaken } from '../capacity/open-nodes.ts';
import { boundByReserve, reserveSentence, withoutReserve } from '../capacity/reserve.ts';
import {
  meantFor,
  ranksPerPodOfSegments,
  type SegmentedRequest,
  stageSegments,
  type StageSegment,
  withStages,
} from '../traffic/stage-segments.ts';
import { onOneNetwork, unlabelledSentence } from '../capacity/unlabelled-nodes.ts';
import { unusableSentence } from '../capacity/unusable-nodes.ts';
import {
  type Refused,
  USE_SOCKETS,
  suggestChanges,
  suggestForEmptyCluster,
  suggestForTooManyRanks,
} from './suggest-changes.ts';
import { exceedsEveryNode, needsOf, notTogether, unsatisfiableMessage, waitingMessage } from './why-not.ts';

/**
 * waiting: an empty cluster would hold it, or the cluster is too small as yet. unsatisfiable: GPUs enough, but no set of nodes keeps the
 * groups together even if all were free. Messages name counts and what to change.
 *
 * Pod `i` goes to `nodes[i]`, every pod to a node of its own, and holds the ranks `[i * ranksPerPod, (i + 1) * ranksPerPod)`, the last one
 * perhaps fewer.
 */
export type PlacementOutcome = PlacedOutcome | RefusedOutcome;

interface PlacedOutcome {
  readonly kind: 'placed';
  readonly nodes: readonly string[];
  readonly ranksPerPod: number;
}

interface RefusedOutcome {
  readonly kind: 'waiting' | 'unsatisfiable';
  readonly message: string;
}

/** What a Placement object can record (`PlacementSpec.ranksPerPod`). */
const MAX_RANKS_PER_POD = 16;

/**
 * Nodes for every rank of the gang: each tensor group and inner all-to-all of ulysses-ring inside one NVLink domain, the gang inside one island or across several as far as
 * `across-islands.ts` lets it. Of the placements that it finds, the one with the fewest weighted bytes across boundaries; of equal ones, the one that
 * leaves most whole domains and switches. Deterministic, whatever the order of the fabric's nodes.
 */
export function placeGang(request: GangRequest, capacity: FabricCapacity): PlacementOutcome {
  return findNodes(request, capacity) ?? whyNotPlaced(request, capacity);
}

/**
 * The same without a word where there is none. Where the best nodes differ in their number of NICs, others that do not; over sockets their number counts
 * for nothing.
 */
export function findNodes(request: GangRequest, capacity: FabricCapacity): PlacedOutcome | undefined {
  const found = findOn(request, capacity);
  if (found === undefined || !needsEqualNics(request) || unequalNics(found.nodes, capacity) === undefined) return found;
  for (const equal of capacitiesOfEqualNics(capacity)) {
    const other = findOn(request, equal);
    if (other !== undefined) return other;
  }
  return undefined;
}

/** Why {@link findNodes} finds none. That takes longer than to find some: changes that would help are tried. */
export function whyNotPlaced(request: GangRequest, capacity: FabricCapacity): RefusedOutcome {
  const outcome = explained(request, capacity);
  const { leftOut } = capacity;
  return leftOut === undefined ? outcome : { ...outcome, message: `${outcome.message} ${leftOut}` };
}

function findOn(request: GangRequest, capacity: FabricCapacity): PlacedOutcome | undefined {
  const { stageGpus } = request;
  if (stageGpus !== undefined) return findSegments({ ...request, stageGpus }, capacity);
  const { fabric } = capacity;
  const open = openNodes(capacity);
  // Before traffic is made.
  if (lacksGpus(request, gpusFreeOf(open))) return undefined;
  const { acrossIslands = 'never' } = request;
  const traffic = trafficOf(request);
  for (const shape of shapesOf(request, fabric)) {
    const nodes = leastCrossing({ shape, traffic, acrossIslands, open, fabric });
    if (nodes !== undefined) return { kind: 'placed', nodes, ranksPerPod: shape.ranksPerPod };
  }
  return undefined;
}

/** Each part on GPUs of its type, with one number of ranks per pod for all; parts whose NICs have to connect are in islands of one class. */
function findSegments(request: SegmentedRequest, capacity: FabricCapacity): PlacedOutcome | undefined {
  const within = request.acrossIslands === 'anyGroup' ? [capacity] : capacitiesOfOneClass(capacity);
  for (const one of within) {
    const segments = stageSegments(request, one);
    for (const ranksPerPod of ranksPerPodOfSegments(segments, request, MAX_RANKS_PER_POD)) {
      const { nodes, short } = findTogether(segments, ranksPerPod);
      if (short === undefined) return { kind: 'placed', nodes, ranksPerPod };
    }
  }
  return undefined;
}

interface FoundTogether {
  readonly nodes: readonly string[];
  /** The first that finds no nodes beside the others. */
  readonly short?: StageSegment;
}

/** Parts of one type share what there is of it: none has a node that another has. The largest, which suits the fewest islands, chooses first. */
function findTogether(segments: readonly StageSegment[], ranksPerPod: number): FoundTogether {
  const found = new Map<StageSegment, readonly string[]>();
  for (const segment of segments.toSorted((one, other) => other.stages - one.stages)) {
    const capacity = withTaken(segment.capacity, [...found.values()].flat());
    const nodes = findSegment({ ...segment, capacity }, ranksPerPod);
    if (nodes === undefined) return { nodes: [], short: segment };
    found.set(segment, nodes);
  }
  return { nodes: segments.flatMap((segment) => found.get(segment) ?? []) };
}

/** Stages whole, where that is possible. */
function findSegment(
  { request, capacity }: Pick<StageSegment, 'request' | 'capacity'>,
  ranksPerPod: number,
): readonly string[] | undefined {
  const part = { ...request, gpusPerNode: ranksPerPod };
  if (request.acrossIslands !== 'anyGroup') return findOn(part, capacity)?.nodes;
  return (findOn({ ...part, acrossIslands: 'pipeline' }, capacity) ?? findOn(part, capacity))?.nodes;
}

/** Of the first part that finds no nodes, what all of its type would need. Changes to the layout help nobody: its stages are cut for these GPUs. */
function explainedSegments(segments: readonly StageSegment[], request: GangRequest): RefusedOutcome {
  const asked = podsOfSegmentsProblem(segments, request);
  if (asked !== undefined) return { kind: 'unsatisfiable', message: asked };
  const [ranksPerPod = 1] = ranksPerPodOfSegments(segments, request, MAX_RANKS_PER_POD);
  const { short } = findTogether(segments, ranksPerPod);
  if (short === undefined) {
    const types = segments.map((segment) => meantFor([segment])).join(', ');
    return {
      kind: 'waiting',
      message: `${types}: each has room, but not together in islands with NICs of one class: recreate the job with resources.acrossIslands Sockets, at the speed of TCP.`,
    };
  }
  const alike = segments.filter(({ gpuType }) => gpuType === short.gpuType);
  const { nodes } = short.capacity.fabric;
  const stages = alike.reduce((sum, part) => sum + part.stages, 0);
  const shape = gangShape(withStages(request.layout, stages), ranksPerPod);
  const total = gpusOf(nodes);
  const open = openNodes(short.capacity);
  const free = gpusFreeOf(open);
  const isApart = open.filter((one) => one.free >= ranksPerPod).length >= shape.pods;
  const apart = isApart ? `, but ${notTogether(shape.layout, request.acrossIslands)}` : '';
  const message = `${meantFor(alike)}. ${needsOf(shape)}; of ${total} such GPUs ${free} are free${apart}.${unusableSentence(nodes)}`;
  return { kind: 'waiting', message };
}

/** Why no part can be cut into pods of as many ranks as are asked for; undefined where nobody asks, or all can. */
function podsOfSegmentsProblem(
  segments: readonly StageSegment[],
  { gpusPerNode, ...request }: GangRequest,
): string | undefined {
  if (gpusPerNode === undefined) return undefined;
  const tooSmall = segments.map(({ capacity: { fabric } }) =>
    fabric.nodes.length === 0 ? undefined : exceedsEveryNode(gpusPerNode, fabric.nodes),
  );
  const at = segments.findIndex(({ request: { layout } }, index) => {
    return worldSize(layout) % gpusPerNode !== 0 || tooSmall[index] !== undefined;
  });
  const segment = segments[at];
  if (segment === undefined) return undefined;
  const ranks = worldSize(segment.request.layout);
  if (ranks % gpusPerNode === 0) return `${meantFor([segment])}. ${tooSmall[at] ?? ''}`;
  const choices = ranksPerPodOfSegments(segments, request, MAX_RANKS_PER_POD).toReversed();
  return (
    `${meantFor([segment])}, which are ${ranks} ranks, and resources.gpusPerNode ${gpusPerNode} does not divide them: each such part has nodes of its own. ` +
    `Set resources.gpusPerNode to ${choices.join(' or ')}, or leave it out.`
  );
}

/** Whether a gang has more ranks than so many GPUs. */
function lacksGpus({ layout }: GangRequest, gpus: number): boolean {
  return worldSize(layout) > gpus;
}

function explained(request: GangRequest, capacity: FabricCapacity): RefusedOutcome {
  const { stageGpus } = request;
  if (stageGpus !== undefined) return explainedSegments(stageSegments({ ...request, stageGpus }, capacity), request);
  const { fabric } = capacity;
  const total = gpusOf(fabric.nodes);
  if (lacksGpus(request, total)) {
    const needed = worldSize(request.layout);
    const helps = changesThatHelp(request, capacity, suggestForTooManyRanks);
    return {
      kind: 'waiting',
      message: `Needs ${needed} GPU${needed === 1 ? '' : 's'}; ${holder(capacity)} ${total} in all.${startsNowIf(helps)}`,
    };
  }
  const { acrossIslands = 'never' } = request;
  const shapes = shapesOf(request, fabric);
  const open = openNodes(capacity);
  const unequal = needsEqualNics(request) ? unequalNics(findOn(request, capacity)?.nodes ?? [], capacity) : undefined;
  if (unequal !== undefined) return { kind: 'waiting', message: unequalNicsMessage(unequal) };
  const emptied = freeGpusOf(openNodes(emptyCapacity(capacity)));
  const wouldFit = shapes.find((shape) => packWithin(acrossIslands, shape, fabric.nodes, emptied) !== undefined);
  if (wouldFit !== undefined) {
    const free = freeGpusOf(open);
    const message = waitingMessage(wouldFit, fabric.nodes, { free, acrossIslands });
    const { ranksPerPod } = wouldFit;
    const reserved =
      capacity.reserve === undefined
        ? ''
        : reserveSentence(nodesInReserve(capacity), {
            ranksPerPod,
            isEnough: findNodes(request, withoutReserve(capacity)) !== undefined,
          });
    return {
      kind: 'waiting',
      message: `${message}${unusableSentence(fabric.nodes)}${reserved}${startsNowIf(changesThatHelp(request, capacity, suggestChanges))}`,
    };
  }
  if (capacity.reserve !== undefined) {
    const all = freeGpusOf(openNodes(withoutReserve(emptyCapacity(capacity))));
    const shape = shapes.find((one) => packWithin(acrossIslands, one, fabric.nodes, all) !== undefined);
    if (shape !== undefined)
      return { kind: 'unsatisfiable', message: boundByReserve(needsOf(shape), capacity.reserve) };
  }
  const fitsAcross = (across: AcrossIslands): boolean =>
    shapes.some((shape) => packWithin(across, shape, fabric.nodes, emptied) !== undefined);
  const helps = changesThatHelp(request, capacity, suggestForEmptyCluster);
  const crossing = {
    asPipeline: fitsAcross('pipeline'),
    overSockets: fitsAcross('anyGroup'),
    shouldAdviseSockets: helps.includes(USE_SOCKETS),
  };
  const message = `${unsatisfiableMessage(request, fabric, crossing)}${startsNowIf(helps)}${unlabelledIfBinding(request, fabric)}`;
  return { kind: 'unsatisfiable', message };
}

/** A sentence with a space before it, where an empty cluster would hold the gang if all of its nodes were on one network. */
function unlabelledIfBinding(request: GangRequest, fabric: Fabric): string {
  const joined = onOneNetwork(fabric);
  if (joined === undefined) return '';
  const { acrossIslands = 'never' } = request;
  const all = freeGpusOf(openNodes(emptyCapacity({ fabric: joined, usedGpus: new Map() })));
  const fits = shapesOf(request, joined).some(
    (shape) => packWithin(acrossIslands, shape, joined.nodes, all) !== undefined,
  );
  return fits ? ` ${unlabelledSentence(fabric) ?? ''}` : '';
}

function changesThatHelp(
  request: GangRequest,
  capacity: FabricCapacity,
  changes: (refused: Refused) => readonly string[],
): readonly string[] {
  const { fabric } = capacity;
  return changes({ request, capacity, shapesOf: (layout) => shapesOf({ ...request, layout }, fabric) });
}

/** A sentence with a space before it; empty where no small change was found. */
function startsNowIf(helps: readonly string[]): string {
  return helps.length === 0 ? '' : ` It would start now if you ${helps.join(', or ')}.`;
}

function holder({ leftOut }: FabricCapacity): string {
  return leftOut === undefined ? 'the cluster has' : 'the nodes that suit the job have';
}

function shapesOf(request: GangRequest, fabric: Fabric): readonly GangShape[] {
  return ranksPerPodChoices(request, fabric).map((ranksPerPod) => gangShape(request.layout, ranksPerPod));
}

/** The same with every node well and free, and what is held in reserve still held. */
function emptyCapacity(capacity: FabricCapacity): FabricCapacity {
  const nodes = capacity.fabric.nodes.map((node) => ({ ...node, usable: true }));
  return { ...capacity, fabric: { nodes }, usedGpus: new Map() };
}

/**
 * Ranks per pod to try, in order. The requested number, if there is one. Otherwise, for each size of node (largest first): the whole node; the most
 * that does not cut a group of one NVLink domain unevenly; the most that does not cut a pipeline stage either.
 */
function ranksPerPodChoices(request: GangRequest, fabric: Fabric): readonly number[] {
  const ranks = worldSize(request.layout);
  if (request.gpusPerNode !== undefined) return [Math.min(request.gpusPerNode, ranks)];
  const inDomain = ranksInDomain(request.layout);
  const stage = ranks / request.layout.pipelineParallelDegree;
  const keepsGroups = (ways: number): boolean => ways % inDomain === 0 || inDomain % ways === 0;
  const sizes = [...new Set(fabric.nodes.map((node) => Math.min(node.gpus, ranks, MAX_RANKS_PER_POD)))];
  const choices = sizes
    .sort((left, right) => right - left)
    .flatMap((size) => [
      size,
      largestUpTo(size, keepsGroups),
      largestUpTo(size, (ways) => keepsGroups(ways) && stage % ways === 0),
    ]);
  return [...new Set(choices)];
}

/** The largest number from `limit` down to 1 that fits; 1 always does here, as it divides everything. */
function largestUpTo(limit: number, fits: (ways: number) => boolean): number {
  for (let ways = limit; ways > 1; ways--) if (fits(ways)) return ways;
  return 1;
}
