import type { Attempt } from '@coxswain/api-types';
import { type Facts, nodeStateOf } from '../observation/facts.ts';
import { nodesOf, podsOf } from '../observation/gang.ts';
import { hearsFew } from '../observation/hearing.ts';
import { fenceOf, isOfFence } from '../observation/incarnation.ts';
import type { NodeCensus, NodeState, ObservedPod } from '../observation/observed.ts';
import { isOver, type Wait } from '../observation/waits.ts';

/**
 * A launcher that reported within this time vouches for its node, whatever the API server says. Three heartbeats: one may be lost, and one
 * may be on its way.
 */
export const LAUNCHER_SILENCE_MS = 30_000;

/** A launcher's last report and the last step before its node died may be this far apart: a heartbeat, and the time until a step is known here. */
const REPORT_LAG_MS = 15_000;

/** What failed in the gang so far. peerLost: ranks say that a peer of theirs is gone, and nothing else is known. */
export type KnownFailure = 'none' | 'peerLost' | 'other';

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
   * Deleted nodes, and nodes for whose death there are two witnesses, together with all others that are not ready and silent: one failure.
   */
  readonly lost: readonly string[];
  /** Nodes that are not ready and not lost. */
  readonly doubted: readonly string[];
  /** Whether so many nodes of the cluster are not ready that none of the gang's is given up for that. */
  readonly isHeld: boolean;
}

/**
 * Which nodes of the attempt are lost. A node whose Node object does not exist is lost at once. Otherwise two witnesses are needed. One is a
 * launcher that this process has heard and that is silent now. The other is the API server (not ready), or ranks that lost a peer. Silence alone
 * never counts: not while many launchers of several gangs are silent, and not while the gang makes steps, which all its ranks do together. A
 * launcher that this process never heard is no witness, so a node that is not ready has the grace period.
 *
 * If a rank has failed already, no healthy gang is at stake, and a silent node that is not ready is the likelier cause.
 */
export function judgeNodes(facts: Facts, attempt: Attempt, failed: KnownFailure): NodeJudgement {
  const nodes = nodesOf(facts, attempt);
  const gone = nodes.filter((node) => nodeStateOf(facts, node) === 'gone');
  const notReady = nodes.filter((node) => nodeStateOf(facts, node) === 'notReady');
  const silent = silentNodes(facts, attempt, notReady);
  const isHeld = notReady.length > 0 && isWidespreadOutage(facts.observed.nodeCensus?.());
  const fallenSilent = new Set(nodesFallenSilent(facts, attempt));
  const isDue = silent.some((node) => fallenSilent.has(node) || isOver(facts, nodeWait(facts, node, isHeld)));
  const isStalled = isOver(facts, stallWait(facts, attempt));
  const isOneLost = gone.length > 0 || failed !== 'none' || (isDue && (!isHeld || isStalled));
  const left = failed === 'peerLost' ? nodes.filter((node) => fallenSilent.has(node)) : [];
  const lost = isOneLost ? [...new Set([...gone, ...silent, ...left])] : [];
  return { lost, doubted: notReady.filter((node) => !lost.includes(node)), isHeld };
}

const SHOWN_NODES = 8;
const SILENT_TO_PEERS = 'its launcher is silent, and its peers lost their connection to it';
const HOW_LOST: Readonly<Record<NodeState, string>> = {
  gone: 'gone',
  notReady: 'not ready',
  ready: SILENT_TO_PEERS,
  leaving: SILENT_TO_PEERS,
};

/** A sentence that names lost nodes, and how each was lost. */
export function lostNodesInWords(facts: Facts, lost: readonly string[]): string {
  const words = lost.map((node) => `${node} (${HOW_LOST[nodeStateOf(facts, node)]})`);
  const more = lost.length > SHOWN_NODES ? ` and ${lost.length - SHOWN_NODES} more` : '';
  return `Lost node${lost.length === 1 ? '' : 's'} ${words.slice(0, SHOWN_NODES).join(', ')}${more}.`;
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

/** Nodes of the gang whose launchers this process has heard, and whose silence now is evidence about these nodes. */
function nodesFallenSilent(facts: Facts, attempt: Attempt): readonly string[] {
  if (hearsFew(facts.observed.hearing?.()) || !hasRecentReport(facts, attempt)) return [];
  const ages = Map.groupBy(podsOf(facts, attempt.epoch), ({ nodeName = '' }) => nodeName);
  const isSilent = (ageMs: number): boolean => Number.isFinite(ageMs) && ageMs >= LAUNCHER_SILENCE_MS;
  const { progress } = facts.observed;
  const stepAgeMs = progress !== undefined && isOfFence(progress, attempt) ? progress.ageMs : undefined;
  return [...ages].flatMap(([node, pods]) => {
    const of = pods.map(({ uid }) => reportAgeMs(facts, uid));
    const isAlive = stepAgeMs !== undefined && stepAgeMs + REPORT_LAG_MS < Math.min(...of);
    return node !== '' && of.every(isSilent) && !isAlive ? [node] : [];
  });
}

/**
 * Whether the silence of a launcher may yet show that its node is lost: a rank of another pod lost a peer `sinceMs` ago, and the launcher was not
 * heard since. It is heard within a heartbeat, or counts as silent soon.
 */
export function mayFallSilent(facts: Facts, pods: readonly ObservedPod[], sinceMs: number): boolean {
  const ages = pods.map(({ uid }) => reportAgeMs(facts, uid));
  return ages.some((ageMs) => ageMs >= sinceMs && ageMs < LAUNCHER_SILENCE_MS);
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
