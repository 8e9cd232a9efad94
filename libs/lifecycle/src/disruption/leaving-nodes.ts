/** Which nodes of a gang are about to go away, and can the gang move? */
import type { Attempt } from '@coxswain/api-types';
import { type Facts, isTerminal, nodeStateOf, placementOf } from '../observation/facts.ts';
import { podsOf, standbysOf } from '../observation/gang.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { runOf } from '../arbiter/recorded-ends.ts';
import type { Ruling } from '../arbiter/judge-ends.ts';
import { ARBITER_SETTINGS } from '../arbiter/settings.ts';
import { roomElsewhere } from '../observation/room.ts';
import { canSaveOnRequest } from './save-on-request.ts';
import { describeNotice } from '../notices/node-notices.ts';

/** Nodes under pods of the attempt with ranks that will soon go away, sorted. */
export function leavingNodes(facts: Facts, attempt: Attempt): readonly string[] {
  if (!isAnyLeaving(facts)) return [];
  const pods = podsOf(facts, attempt.epoch).filter((pod) => !isTerminal(pod));
  const nodes = pods.flatMap((pod) => nodeOf(facts, pod) ?? []);
  return [...new Set(nodes)].filter((node) => nodeStateOf(facts, node) === 'leaving').toSorted();
}

/**
 * Standbys of the attempt on nodes that will soon go away. A standby has nothing to save, and cannot take ranks on such a node, so nothing speaks for
 * keeping it there.
 */
export function leavingStandbys(facts: Facts, attempt: Attempt): readonly ObservedPod[] {
  if (!isAnyLeaving(facts)) return [];
  return standbysOf(facts, attempt).filter((pod) => nodeStateOf(facts, nodeOf(facts, pod)) === 'leaving');
}

function isAnyLeaving({ observed }: Facts): boolean {
  return [...observed.nodeStates.values()].includes('leaving');
}

/** The node of the pod, or the one on which it was placed. */
function nodeOf(facts: Facts, { epoch, nodeName, podIndex }: ObservedPod): string | undefined {
  return nodeName ?? placementOf(facts, epoch)?.spec.nodes[podIndex];
}

/** Whether the gang can save and move. Without checkpoints it would lose all its work by moving, and lose no more by staying. */
export function canMove({ spec }: Pick<Facts, 'spec'>): boolean {
  return spec?.checkpoint !== undefined;
}

interface Move {
  readonly attempt: Attempt;
  readonly nodes: readonly string[];
  readonly now: Date;
}

/** Results per observation: four rules ask, and each answer counts the room of all nodes. */
const ruledMoves = new WeakMap<Facts, Map<string, Ruling>>();

/** The arbiter's ruling on a move away from these nodes. */
export function ruleOnMove(facts: Facts, move: Move): Ruling {
  const moves = ruledMoves.get(facts) ?? new Map<string, Ruling>();
  ruledMoves.set(facts, moves);
  const key = `${runOf(move.attempt)} ${move.nodes.join()}`;
  const ruling = moves.get(key) ?? rule(facts, move);
  moves.set(key, ruling);
  return ruling;
}

function rule(facts: Facts, { attempt, nodes, now }: Move): Ruling {
  const { ruleOnEnd } = facts.observed;
  if (ruleOnEnd === undefined) return { kind: 'granted', blames: true };
  const room = roomElsewhere(facts, attempt, nodes);
  return ruleOnEnd({
    cause: 'leaving',
    run: runOf(attempt),
    isDue: true,
    nodes,
    switches: [],
    claims: [],
    ...(room === undefined ? {} : { room }),
    ...(nodes.some((node) => mayGoNow(facts, node)) ? { savesOnlyAtEnd: true } : {}),
    ...(nodes.some((node) => isAsked(facts, node)) ? { isRequested: true } : {}),
    ...(nodes.some((node) => isTimeNear(facts, node, now)) ? { isUrgent: true } : {}),
  });
}

/** Whether an administrator asked for the node to be emptied at once. */
function isAsked({ observed }: Facts, node: string): boolean {
  const notice = observed.noticeOf?.(node);
  return notice?.isRequested === true && notice.beginsAtMs === undefined;
}

/** Whether the node may go at any moment, and the ranks cannot save before it does without ending. */
function mayGoNow(facts: Facts, node: string): boolean {
  const engine = facts.spec?.engine.name;
  return engine !== undefined && !canSaveOnRequest(engine) && facts.observed.noticeOf?.(node)?.beginsAtMs === undefined;
}

/** Whether the announced time is so near that the gang has just time to save. A notice without a time may come true at any moment, or never. */
function isTimeNear(facts: Facts, node: string, now: Date): boolean {
  const beginsAtMs = facts.observed.noticeOf?.(node)?.beginsAtMs;
  const leaveAtMs = (beginsAtMs ?? Infinity) - facts.gracePeriodSeconds * 1000 - ARBITER_SETTINGS.leaveLatestMs;
  return now.getTime() >= leaveAtMs;
}

const SHOWN_NODES = 8;

/** A sentence such as `Node gpu-7 is about to go away: aws-spot (taint ...).` */
export function whyLeaving(facts: Facts, nodes: readonly string[]): string {
  const shown = nodes.slice(0, SHOWN_NODES).map((node) => {
    const notice = facts.observed.noticeOf?.(node);
    return notice === undefined ? node : `${node}, ${describeNotice(notice)}`;
  });
  const more = nodes.length > SHOWN_NODES ? ` and ${nodes.length - SHOWN_NODES} more` : '';
  return nodes.length === 1
    ? `A node is about to go away: ${shown.join('')}.`
    : `${nodes.length} nodes are about to go away: ${shown.join('; ')}${more}.`;
}
