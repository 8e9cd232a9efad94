import { worldSize } from '@coxswain/layout';
import { packWithin } from './across-islands.ts';
import { capacitiesOfEqualNics, unequalNics, unequalNicsMessage } from './equal-nics.ts';
import type { Fabric, FabricCapacity, FabricNode } from './fabric.ts';
import { type GangRequest, gangShape } from './gang-shape.ts';
import { unsatisfiableMessage, waitingMessage } from './why-not.ts';

/**
 * waiting: an empty cluster would hold it, or the cluster is too small as yet. unsatisfiable: GPUs enough, but no set of nodes keeps the
 * groups together even if all were free. Messages name counts and what to change.
 *
 * Pod `i` goes to `nodes[i]`, every pod to a node of its own, and holds the ranks `[i * ranksPerPod, (i + 1) * ranksPerPod)`, the last one
 * perhaps fewer.
 */
export type PlacementOutcome =
  | { readonly kind: 'placed'; readonly nodes: readonly string[]; readonly ranksPerPod: number }
  | { readonly kind: 'waiting'; readonly message: string }
  | { readonly kind: 'unsatisfiable'; readonly message: string };

/** What a Placement object can record (`PlacementSpec.ranksPerPod`). */
const MAX_RANKS_PER_POD = 16;

/**
 * Nodes for every rank of the gang: each tensor group inside one NVLink domain, the gang inside one island or across several as far as
 * `across-islands.ts` lets it. Deterministic, whatever the order of the fabric's nodes; about n log n in nodes.
 */
export function placeGang(request: GangRequest, capacity: FabricCapacity): PlacementOutcome {
  const outcome = placeOnEqualNics(request, capacity);
  const { leftOut } = capacity;
  return outcome.kind === 'placed' || leftOut === undefined
    ? outcome
    : { ...outcome, message: `${outcome.message} ${leftOut}` };
}

/** Where the best nodes differ in their number of NICs, others that do not. Over sockets their number counts for nothing. */
function placeOnEqualNics(request: GangRequest, capacity: FabricCapacity): PlacementOutcome {
  const outcome = placeOn(request, capacity);
  if (outcome.kind !== 'placed' || request.acrossIslands === 'anyGroup') return outcome;
  const unequal = unequalNics(outcome.nodes, capacity);
  if (unequal === undefined) return outcome;
  for (const equal of capacitiesOfEqualNics(capacity)) {
    const other = placeOn(request, equal);
    if (other.kind === 'placed') return other;
  }
  return { kind: 'waiting', message: unequalNicsMessage(unequal) };
}

function placeOn(request: GangRequest, capacity: FabricCapacity): PlacementOutcome {
  const { fabric } = capacity;
  const shapes = ranksPerPodChoices(request, fabric).map((ranksPerPod) => gangShape(request.layout, ranksPerPod));
  const free = (node: FabricNode): number => freeGpus(node, capacity);
  const { acrossIslands = 'never' } = request;
  for (const shape of shapes) {
    const nodes = packWithin(acrossIslands, shape, fabric.nodes, free);
    if (nodes !== undefined) return { kind: 'placed', nodes, ranksPerPod: shape.ranksPerPod };
  }
  const wouldFit = shapes.find(
    (shape) => packWithin(acrossIslands, shape, fabric.nodes, (node) => node.gpus) !== undefined,
  );
  if (wouldFit !== undefined) {
    return { kind: 'waiting', message: waitingMessage(wouldFit, fabric.nodes, { free, acrossIslands }) };
  }
  const total = fabric.nodes.reduce((sum, node) => sum + node.gpus, 0);
  const needed = worldSize(request.layout);
  if (total < needed) {
    return {
      kind: 'waiting',
      message: `Needs ${needed} GPU${needed === 1 ? '' : 's'}; ${holder(capacity)} ${total} in all.`,
    };
  }
  return { kind: 'unsatisfiable', message: unsatisfiableMessage(request, fabric) };
}

function holder({ leftOut }: FabricCapacity): string {
  return leftOut === undefined ? 'the cluster has' : 'the nodes that suit the job have';
}

/** GPUs of a node that a gang may take now; 0 for a node that takes no pods. */
function freeGpus(node: FabricNode, capacity: FabricCapacity): number {
  return node.usable ? Math.max(0, node.gpus - (capacity.usedGpus.get(node.name) ?? 0)) : 0;
}

/**
 * Ranks per pod to try, in order: what was asked for; else for each size of node (largest first) the whole node, then the most that
 * neither cuts a tensor group unevenly, then the most that does not cut a pipeline stage either.
 */
function ranksPerPodChoices(request: GangRequest, fabric: Fabric): readonly number[] {
  const ranks = worldSize(request.layout);
  if (request.gpusPerNode !== undefined) return [Math.min(request.gpusPerNode, ranks)];
  const tensorGroup = request.layout.tensorParallelDegree;
  const stage = ranks / request.layout.pipelineParallelDegree;
  const keepsTensorGroups = (ways: number): boolean => ways % tensorGroup === 0 || tensorGroup % ways === 0;
  const sizes = [...new Set(fabric.nodes.map((node) => Math.min(node.gpus, ranks, MAX_RANKS_PER_POD)))];
  const choices = sizes
    .sort((left, right) => right - left)
    .flatMap((size) => [
      size,
      largestUpTo(size, keepsTensorGroups),
      largestUpTo(size, (ways) => keepsTensorGroups(ways) && stage % ways === 0),
    ]);
  return [...new Set(choices)];
}

/** The largest number from `limit` down to 1 that fits; 1 always does here, as it divides everything. */
function largestUpTo(limit: number, fits: (ways: number) => boolean): number {
  for (let ways = limit; ways > 1; ways--) if (fits(ways)) return ways;
  return 1;
}
