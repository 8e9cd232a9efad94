import type { Attempt } from '@coxswain/api-types';
import { type Facts, nodeStateOf } from '../observation/facts.ts';
import { nodesOf, podsOf } from '../observation/gang.ts';
import { fenceOf, isOfFence } from '../observation/incarnation.ts';
import type { NodeCensus } from '../observation/observed.ts';
import { isOver, type Wait } from '../observation/waits.ts';

/**
 * A launcher that reported within this time vouches for its node, whatever the API server says. Three heartbeats: one may be lost, and one
 * may be on its way.
 */
export const LAUNCHER_SILENCE_MS = 30_000;

/**
 * If at least this share of the cluster's nodes and more than two are not ready, the connection to the API server is the likelier cause.
 * The node controller stops evicting by the same rule (`--unhealthy-zone-threshold`). The same holds if no node is ready, because there is
 * nowhere to move.
 */
const WIDESPREAD_OUTAGE = { share: 0.55, moreThan: 2 } as const;

/**
 * How long a gang may report no step during such an outage, while one of its launchers reports. Longer than a save or an evaluation takes.
 * Jobs that report no steps get it too, and are then judged node by node.
 */
const NO_PROGRESS_MS = 300_000;

/** Which nodes of an attempt are lost or doubtful. */
export interface NodeJudgement {
  /**
   * Deleted nodes, and nodes that were not ready and silent for too long, together with all others that are not ready and silent: one
   * failure.
   */
  readonly lost: readonly string[];
  /** Nodes that are not ready and not lost. */
  readonly doubted: readonly string[];
  /** Whether so many nodes of the cluster are not ready that none of the gang's is given up for that. */
  readonly isHeld: boolean;
}

/**
 * Which nodes of the attempt are lost. A node whose Node object does not exist is lost at once. `hasFailed`: a rank has failed already. Then no
 * healthy gang is at stake, and a silent node that is not ready is the likelier cause.
 */
export function judgeNodes(facts: Facts, attempt: Attempt, hasFailed: boolean): NodeJudgement {
  const nodes = nodesOf(facts, attempt);
  const gone = nodes.filter((node) => nodeStateOf(facts, node) === 'gone');
  const notReady = nodes.filter((node) => nodeStateOf(facts, node) === 'notReady');
  const silent = silentNodes(facts, attempt, notReady);
  const isHeld = notReady.length > 0 && isWidespreadOutage(facts.observed.nodeCensus?.());
  const isDue = silent.some((node) => isOver(facts, nodeWait(facts, node, isHeld)));
  const isStalled = isOver(facts, stallWait(facts, attempt));
  const isOneLost = gone.length > 0 || hasFailed || (isDue && (!isHeld || isStalled));
  const lost = isOneLost ? [...gone, ...silent] : [];
  return { lost, doubted: notReady.filter((node) => !lost.includes(node)), isHeld };
}

/** The waits before a node of the attempt is given up. */
export function nodeWaits(facts: Facts, attempt: Attempt): readonly Wait[] {
  const notReady = nodesOf(facts, attempt).filter((node) => nodeStateOf(facts, node) === 'notReady');
  if (notReady.length === 0) return [];
  const isHeld = isWidespreadOutage(facts.observed.nodeCensus?.());
  const isStallCounted = isHeld && hasRecentReport(facts, attempt);
  const waits = notReady.map((node) => nodeWait(facts, node, isHeld));
  return [...waits, ...(isStallCounted ? [stallWait(facts, attempt)] : [])];
}

/** Milliseconds until the first launcher on a node that is not ready counts as silent; undefined: none will. */
export function silenceDueMs(facts: Facts, attempt: Attempt): number | undefined {
  const due = podsOf(facts, attempt.epoch)
    .filter((pod) => nodeStateOf(facts, pod.nodeName) === 'notReady')
    .map((pod) => LAUNCHER_SILENCE_MS - reportAgeMs(facts, pod.uid))
    .filter((ms) => ms > 0);
  return due.length === 0 ? undefined : Math.min(...due);
}

/**
 * During a widespread outage the wait has another key. So nodes that return last get the whole grace period afterwards, like in the node
 * controller.
 */
function nodeWait({ timeouts }: Facts, node: string, isHeld: boolean): Wait {
  return { key: `notReady/${node}${isHeld ? '/held' : ''}`, limitMs: timeouts.nodeGraceMs };
}

/** Restarts with every reported step, and counts only while a launcher reports. */
function stallWait({ observed: { progress } }: Facts, attempt: Attempt): Wait {
  const { epoch, incarnation } = fenceOf(attempt);
  const step = progress !== undefined && isOfFence(progress, attempt) ? progress.step : 'none';
  const fence = incarnation === 1 ? `e${epoch}` : `e${epoch}i${incarnation}`;
  return { key: `${fence}/stalled/${step}`, limitMs: NO_PROGRESS_MS };
}

function silentNodes(facts: Facts, attempt: Attempt, nodes: readonly string[]): readonly string[] {
  const reporting = new Set(
    podsOf(facts, attempt.epoch)
      .filter((pod) => reportAgeMs(facts, pod.uid) < LAUNCHER_SILENCE_MS)
      .map((pod) => pod.nodeName),
  );
  return nodes.filter((node) => !reporting.has(node));
}

function hasRecentReport(facts: Facts, attempt: Attempt): boolean {
  return podsOf(facts, attempt.epoch).some((pod) => reportAgeMs(facts, pod.uid) < LAUNCHER_SILENCE_MS);
}

function reportAgeMs({ observed }: Facts, podUid: string): number {
  return observed.reportAgesMs?.get(podUid) ?? Number.POSITIVE_INFINITY;
}

function isWidespreadOutage(census: NodeCensus | undefined): boolean {
  if (census === undefined) return false;
  const { nodes, notReady } = census;
  return notReady === nodes || (notReady > WIDESPREAD_OUTAGE.moreThan && notReady >= WIDESPREAD_OUTAGE.share * nodes);
}
