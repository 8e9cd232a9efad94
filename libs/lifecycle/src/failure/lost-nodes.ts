import type { Attempt } from '@coxswain/api-types';
import { type Facts, nodeStateOf } from '../observation/facts.ts';
import { nodesOf, podsOf } from '../observation/gang.ts';
import { fenceOf, isOfFence } from '../observation/incarnation.ts';
import type { NodeCensus } from '../observation/observed.ts';
import { isOver, type Wait } from '../observation/waits.ts';

/**
 * A launcher that was heard within this time speaks for its node, whatever the API server says of it. Three heartbeats: one may be lost, and
 * one may be on its way.
 */
export const LAUNCHER_SILENCE_MS = 30_000;

/**
 * Where at least this share of the cluster's nodes, and more than two, are not ready together, the road to the API server is the likelier
 * cause: the rule by which the node controller itself stops evicting (`--unhealthy-zone-threshold`). So it is where no node is ready at all;
 * there is nowhere to go then.
 */
const DOUBTED_ROAD = { share: 0.55, moreThan: 2 } as const;

/**
 * How long, while so many nodes are not ready, a gang of which a launcher is heard may report no step. Longer than a save or an
 * evaluation takes; jobs that report no steps are given it too, and then judged node by node.
 */
const NO_PROGRESS_MS = 300_000;

/** What is to be thought of an attempt's nodes. */
export interface NodeJudgement {
  /** Gone, or not ready for too long and silent, with all that is not ready and silent beside them: one failure. */
  readonly lost: readonly string[];
  /** Not ready, and not lost. */
  readonly doubted: readonly string[];
  /** So many of the cluster's nodes are not ready together that none of the gang's is given up for that. */
  readonly isHeld: boolean;
}

/**
 * Which nodes of the attempt are lost. One whose Node object does not exist is, at once. `hasFailed`: a rank has failed already, so there is no
 * healthy gang to be spared, and what is not ready and silent is the likelier cause.
 */
export function judgeNodes(facts: Facts, attempt: Attempt, hasFailed: boolean): NodeJudgement {
  const nodes = nodesOf(facts, attempt);
  const gone = nodes.filter((node) => nodeStateOf(facts, node) === 'gone');
  const notReady = nodes.filter((node) => nodeStateOf(facts, node) === 'notReady');
  const silent = silentNodes(facts, attempt, notReady);
  const isHeld = notReady.length > 0 && isRoadInDoubt(facts.observed.nodeCensus?.());
  const isDue = silent.some((node) => isOver(facts, nodeWait(facts, node, isHeld)));
  const isStalled = isOver(facts, stallWait(facts, attempt));
  const isOneLost = gone.length > 0 || hasFailed || (isDue && (!isHeld || isStalled));
  const lost = isOneLost ? [...gone, ...silent] : [];
  return { lost, doubted: notReady.filter((node) => !lost.includes(node)), isHeld };
}

/** What is waited for before a node of the attempt is given up. */
export function nodeWaits(facts: Facts, attempt: Attempt): readonly Wait[] {
  const notReady = nodesOf(facts, attempt).filter((node) => nodeStateOf(facts, node) === 'notReady');
  if (notReady.length === 0) return [];
  const isHeld = isRoadInDoubt(facts.observed.nodeCensus?.());
  const isStallCounted = isHeld && isAnyoneHeard(facts, attempt);
  const waits = notReady.map((node) => nodeWait(facts, node, isHeld));
  return [...waits, ...(isStallCounted ? [stallWait(facts, attempt)] : [])];
}

/** How long until the first launcher on a node that is not ready counts as silent; undefined when no one is waited for. */
export function silenceDueMs(facts: Facts, attempt: Attempt): number | undefined {
  const due = podsOf(facts, attempt.epoch)
    .filter((pod) => nodeStateOf(facts, pod.nodeName) === 'notReady')
    .map((pod) => LAUNCHER_SILENCE_MS - heardMs(facts, pod.uid))
    .filter((ms) => ms > 0);
  return due.length === 0 ? undefined : Math.min(...due);
}

/**
 * While the road is in doubt it is another wait: when that is over, the nodes that come back last have the whole grace before them, as those
 * have whose node controller begins anew after a disruption.
 */
function nodeWait({ timeouts }: Facts, node: string, isHeld: boolean): Wait {
  return { key: `notReady/${node}${isHeld ? '/held' : ''}`, limitMs: timeouts.nodeGraceMs };
}

/** Begins anew with every step that is reported, and is counted only while a launcher is heard. */
function stallWait({ observed: { progress } }: Facts, attempt: Attempt): Wait {
  const { epoch, incarnation } = fenceOf(attempt);
  const step = progress !== undefined && isOfFence(progress, attempt) ? progress.step : 'none';
  const fence = incarnation === 1 ? `e${epoch}` : `e${epoch}i${incarnation}`;
  return { key: `${fence}/stalled/${step}`, limitMs: NO_PROGRESS_MS };
}

function silentNodes(facts: Facts, attempt: Attempt, nodes: readonly string[]): readonly string[] {
  const heard = new Set(
    podsOf(facts, attempt.epoch)
      .filter((pod) => heardMs(facts, pod.uid) < LAUNCHER_SILENCE_MS)
      .map((pod) => pod.nodeName),
  );
  return nodes.filter((node) => !heard.has(node));
}

function isAnyoneHeard(facts: Facts, attempt: Attempt): boolean {
  return podsOf(facts, attempt.epoch).some((pod) => heardMs(facts, pod.uid) < LAUNCHER_SILENCE_MS);
}

function heardMs({ observed }: Facts, podUid: string): number {
  return observed.heardMs?.get(podUid) ?? Number.POSITIVE_INFINITY;
}

function isRoadInDoubt(census: NodeCensus | undefined): boolean {
  if (census === undefined) return false;
  const { nodes, notReady } = census;
  return notReady === nodes || (notReady > DOUBTED_ROAD.moreThan && notReady >= DOUBTED_ROAD.share * nodes);
}
