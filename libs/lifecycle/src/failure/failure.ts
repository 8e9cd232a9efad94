import {
  type Attempt,
  type AttemptReason,
  type AvoidedNodeReason,
  AVOIDED_NODE_REASONS,
  EXIT_CODES,
  hasRanks,
  isConsequence,
  memberCount,
  podName,
  type TerminationCause,
} from '@coxswain/api-types';
import type { CrashFacts } from '@coxswain/health';
import { doesAnswer, type Facts, isTerminal, nodeStateOf, placementOf, willNeverRun } from '../observation/facts.ts';
import { podsDeletedAfterFailure } from './deleted-after-failure.ts';
import { describeFullClaim } from './full-claim.ts';
import { isOfBucket } from './checkpoint-trouble.ts';
import { missingIndices, podsOf, uncreatedIndices } from '../observation/gang.ts';
import { isAlive, isLeftBehind, isOfEarlierIncarnation, isOfFence, launcherOf } from '../observation/incarnation.ts';
import { type Candidate, originOf } from './failure-origin.ts';
import { nodesWithErrorOf } from './nodes-with-error.ts';
import { withFinishedPeer } from './finished-peer.ts';
import { judgeNodes, type KnownFailure, lostNodesInWords, mayFallSilent } from './lost-nodes.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { isOver, type Wait } from '../observation/waits.ts';
import { overduePods } from './overdue.ts';
import { describeExit, reasonOfExit } from './pod-exit.ts';
import { condemnedPod, verdictsOn } from './verdicts.ts';

/** Why an attempt cannot go on. */
export interface Failure {
  readonly reason: AttemptReason;
  /** Rank, node, exit code and last lines, as far as known. */
  readonly message: string;
  readonly lastStep?: number;
  /** Evidence from which the crash is classified. */
  readonly crash: CrashFacts;
  /** Exit code of the rank that ended first, if the evidence is from a peer that it left. */
  readonly originExitCode?: number;
  /** The node to blame; undefined: none. */
  readonly node?: string | undefined;
  /** The node on which it was observed, whether or not that node is to blame. */
  readonly where?: string;
  /** The rank that failed first, or that a detector named. */
  readonly rank?: number;
  /** The pod of that rank, or the one that failed. */
  readonly pod?: string;
  /** Other nodes of the gang whose ranks raised the same exception. */
  readonly sameErrorOn?: readonly string[];
  /** Nodes that the next attempts must avoid. */
  readonly avoid?: { readonly nodes: readonly string[]; readonly reason: AvoidedNodeReason };
}

interface Suspect extends Omit<Failure, 'avoid' | 'crash' | 'where' | 'pod' | 'sameErrorOn'>, Candidate {
  /** Exit of a pod that has ended. */
  readonly exit?: Omit<CrashFacts, 'nodeConditions'>;
  /** The node to blame if the reason is a fault of nodes. */
  readonly node?: string | undefined;
}

/**
 * How long a failure that only shows a lost peer waits for the report of the rank that failed first. Launchers of lost peers report a second
 * later than others, but on a busy node the first report may take longer. A peer whose node was lost reports nothing.
 */
const ORIGIN_REPORT_MS = 5_000;
/** While it is open whether a node is lost, its launcher's silence is looked at this often. */
const SILENCE_LOOK_MS = 2_000;

/** The failure of the attempt; undefined: it has not failed, or the failure that came first is not reported yet. */
export function failureOf(facts: Facts, attempt: Attempt): Failure | undefined {
  const all = suspects(facts, attempt);
  const origin = originOf(all);
  if (origin === undefined || originWaits(facts, attempt, all).some((wait) => !isOver(facts, wait))) return undefined;
  const { reason, lastStep, exit } = origin;
  const first = origin.hasLostPeer === true ? withFinishedPeer(facts, attempt, origin) : origin;
  const { message, rank, podIndex } = first;
  // A rank that ended with 0 left the others: no node is to blame.
  const isLeft = first !== origin;
  const node = isLeft ? undefined : origin.node;
  const placement = placementOf(facts, attempt.epoch)?.spec;
  const nodeConditions = origin.node === undefined ? [] : (facts.observed.nodeConditionsOf?.(origin.node) ?? []);
  const avoid = isOfBucket(facts, reason)
    ? undefined
    : avoidedFor(reason, all, placement === undefined ? 0 : memberCount(placement));
  const sameErrorOn = nodesWithErrorOf(origin, all);
  const isOfGang = reason === 'Hung' || (reason === 'Condemned' && node === undefined);
  const where = node ?? (isOfGang ? undefined : placement?.nodes[podIndex]);
  const full = describeFullClaim(facts.spec, exit?.lastLines ?? []);
  return {
    reason,
    // Beside how it ended, so that summaries, which have the first line, name the claim.
    message: full === undefined ? message : message.replace(/\n|$/, (end) => ` ${full}${end}`),
    crash: { lastLines: [], ...exit, nodeConditions },
    ...(isLeft ? { originExitCode: EXIT_CODES.finished.code } : {}),
    node,
    ...(where === undefined ? {} : { where }),
    ...(rank === undefined ? {} : { rank }),
    ...podOf(facts, attempt, { where, podIndex }),
    ...(lastStep === undefined ? {} : { lastStep }),
    ...(sameErrorOn.length === 0 ? {} : { sameErrorOn }),
    ...(avoid === undefined ? {} : { avoid }),
  };
}

/** The pod on the node where the failure was observed. Several lost nodes are one failure, and its index is not that of the node. */
function podOf(
  facts: Facts,
  { epoch, placement }: Attempt,
  { where, podIndex }: { readonly where: string | undefined; readonly podIndex: number },
): Pick<Failure, 'pod'> {
  const nodes = placementOf(facts, epoch)?.spec.nodes ?? [];
  const index = nodes[podIndex] === where ? podIndex : nodes.indexOf(where ?? '');
  return where === undefined || index < 0
    ? {}
    : { pod: podName(facts.job.metadata, { epoch, podIndex: index, placement }) };
}

/**
 * The wait for the report of the failure that came first: every known failure is a lost peer, and a pod that still runs may have it. If its launcher is not
 * heard meanwhile, its node may be lost.
 */
export function originWaits(
  facts: Facts,
  attempt: Attempt,
  all: readonly Suspect[] = suspects(facts, attempt),
): readonly Wait[] {
  const hasFailed = new Set(all.map(({ podIndex }) => podIndex));
  const others = podsOf(facts, attempt.epoch).filter((pod) => isAlive(facts, pod) && !hasFailed.has(pod.podIndex));
  if (originOf(all)?.hasLostPeer !== true || others.length === 0) return [];
  const wait = { key: `e${attempt.epoch}i${attempt.incarnation ?? 1}/origin`, limitMs: ORIGIN_REPORT_MS };
  const sinceMs = facts.elapsedMs.get(wait.key) ?? 0;
  if (!isOver(facts, wait) || !mayFallSilent(facts, others, sinceMs)) return [wait];
  return [{ ...wait, limitMs: sinceMs + SILENCE_LOOK_MS }];
}

/**
 * Nodes to avoid: all that failed for the same reason, for example a rack. If most of the gang reports a gang-wide reason (storage,
 * reaching the operator, being rejected by the kubelet), its nodes are not at fault.
 */
function avoidedFor(reason: AttemptReason, all: readonly Suspect[], gangNodes: number): Failure['avoid'] {
  if (!isReasonToAvoid(reason)) return undefined;
  const nodes = new Set(all.flatMap((suspect) => (suspect.reason === reason ? (suspect.node ?? []) : [])));
  // A verdict with a common cause names none: the gang restarts anywhere, and must not say otherwise.
  if (nodes.size === 0) return undefined;
  if (GANG_WIDE_REASONS.includes(reason) && nodes.size > 1 && nodes.size * 2 > gangNodes) return undefined;
  return { nodes: [...nodes], reason };
}

const GANG_WIDE_REASONS: readonly AttemptReason[] = ['CheckpointIoError', 'NotStarted', 'TurnedAway'];

function isReasonToAvoid(reason: AttemptReason): reason is AttemptReason & AvoidedNodeReason {
  return Object.hasOwn(AVOIDED_NODE_REASONS, reason);
}

function suspects(facts: Facts, attempt: Attempt): readonly Suspect[] {
  const pods = podsOf(facts, attempt.epoch);
  const followers = podsDeletedAfterFailure(pods);
  const found = [
    ...pods
      .filter((pod) => !followers.has(pod))
      .flatMap((pod) => suspectExit(facts, attempt, pod) ?? suspectReaped(facts, attempt, pod) ?? []),
    ...missingSuspects(facts, attempt),
    ...strandedSuspects(facts, attempt),
  ];
  return [
    ...found,
    ...lostNodeSuspects(facts, attempt, knownFailure(found)),
    ...condemnedSuspects(facts, attempt),
    ...preflightSuspects(facts, attempt),
    ...overduePods(facts, attempt).map((late) => ({ ...late, finishedAt: '', killed: false })),
  ];
}

function knownFailure(found: readonly Suspect[]): KnownFailure {
  const origin = originOf(found);
  if (origin === undefined) return 'none';
  return origin.hasLostPeer === true ? 'peerLost' : 'other';
}

function suspectExit(facts: Facts, attempt: Attempt, seen: ObservedPod): Suspect | undefined {
  // A pod that finishes while its gang restarts does not come back, so its success does not count.
  const isBehind = isLeftBehind(facts, seen, attempt);
  if (!isTerminal(seen) || (seen.phase === 'Succeeded' && !isBehind)) return undefined;
  const pod = isBehind ? seen : withoutOldCause(seen, attempt);
  const node = pod.nodeName ?? placementOf(facts, attempt.epoch)?.spec.nodes[pod.podIndex];
  const { exit } = pod;
  const placement = placementOf(facts, attempt.epoch)?.spec;
  const reason = reasonOfExit(pod, attempt, !doesAnswer(nodeStateOf(facts, node)));
  const how = describeExit(pod, node ?? 'unknown');
  return {
    podIndex: pod.podIndex,
    node: isNodeBlameless(reason, exit?.cause, placement === undefined ? 0 : memberCount(placement)) ? undefined : node,
    finishedAt: exit?.finishedAt ?? '',
    killed: exit?.cause?.signal !== undefined || (exit?.exitCode ?? 0) > 128,
    hasLostPeer: isOfPeer(exit?.cause),
    ...(isOfFence(exit?.cause, attempt) && exit?.cause?.lastStep !== undefined
      ? { lastStep: exit.cause.lastStep }
      : {}),
    ...(exit?.cause?.rank === undefined || !isOfFence(exit.cause, attempt) ? {} : { rank: exit.cause.rank }),
    reason,
    exit: {
      exitCode: exit?.cause?.exitCode ?? exit?.exitCode,
      signal: exit?.cause?.signal,
      containerReason: exit?.reason,
      disruption: pod.disruption,
      lastLines: exit?.cause?.lastLines ?? [],
    },
    message: reason === 'NotReaped' ? `Pod ${pod.name} ended before its ranks restarted. ${how}` : how,
  };
}

/** Whether the rank ended because another one had: it says so, and no signal from outside ended it. Watchdogs of torch abort their process. */
function isOfPeer(cause: TerminationCause | undefined): boolean {
  const isByItself = cause?.signal === undefined || cause.signal === 'SIGABRT';
  return isByItself && isConsequence(cause?.lastLines ?? []);
}

/**
 * Whether the failure says nothing about the node. The launcher ended without a leader or had finished. It reached no operator, and the gang
 * has no other node to compare with. The pod exceeded its own limit. Or the launcher ended because a newer checkpoint verified.
 */
function isNodeBlameless(reason: AttemptReason, cause: TerminationCause | undefined, gangNodes: number): boolean {
  if (cause?.verifiedCheckpoint !== undefined) return true;
  return reason === 'NotReaped' || reason === 'LimitExceeded' || (reason === 'NotStarted' && gangNodes === 1);
}

/**
 * A pod that runs on although a rank of it failed, as its launcher reports. A report about an earlier incarnation was counted before, and
 * ranks that were ended by order have no cause. A report about a later incarnation than the recorded one counts too: an operator of an
 * older release has rewritten the status.
 */
function suspectReaped(facts: Facts, attempt: Attempt, pod: ObservedPod): Suspect | undefined {
  const launcher = launcherOf(facts, pod, attempt);
  const cause = launcher?.state === 'reaped' ? launcher.cause : undefined;
  if (isTerminal(pod) || cause?.epoch !== attempt.epoch) return undefined;
  const incarnation = Math.min(launcher?.incarnation ?? 0, cause.incarnation ?? 1);
  if (incarnation < (attempt.incarnation ?? 1)) return undefined;
  const exitCode = cause.exitCode ?? EXIT_CODES[cause.kind].code;
  return suspectExit(facts, attempt, { ...pod, phase: 'Failed', exit: { exitCode, reason: 'Error', cause } });
}

/** Drops the cause of an exit that belongs to an earlier incarnation, which was answered already. */
function withoutOldCause(pod: ObservedPod, attempt: Attempt): ObservedPod {
  if (!isOfEarlierIncarnation(pod.exit?.cause, attempt) || pod.exit === undefined) return pod;
  const { cause: _, ...exit } = pod.exit;
  return { ...pod, exit };
}

/** Nodes that are lost together are one failure with one message. */
function lostNodeSuspects(facts: Facts, attempt: Attempt, failed: KnownFailure): readonly Suspect[] {
  const { lost } = judgeNodes(facts, attempt, failed);
  const message = lostNodesInWords(facts, lost);
  return lost.map((node) => ({ podIndex: 0, node, finishedAt: '', killed: false, reason: 'NodeLost', message }));
}

/** Verdicts of detectors about nodes and ranks of this attempt's gang. */
function condemnedSuspects(facts: Facts, attempt: Attempt): readonly Suspect[] {
  return verdictsOn(facts, attempt).flatMap((verdict): readonly Suspect[] => {
    const { message } = verdict;
    // With a common cause no node is to blame, and nothing is charged.
    if (verdict.blamesNobody === true)
      return [{ podIndex: 0, finishedAt: '', killed: false, reason: 'Condemned', message }];
    if (verdict.about.kind === 'gang') return [{ podIndex: 0, finishedAt: '', killed: false, reason: 'Hung', message }];
    const podIndex = condemnedPod(facts, attempt, verdict);
    const node = placementOf(facts, attempt.epoch)?.spec.nodes[podIndex];
    if (node === undefined) return [];
    const rank = verdict.about.kind === 'rank' ? { rank: verdict.about.rank } : {};
    return [{ podIndex, node, ...rank, finishedAt: '', killed: false, reason: 'Condemned', message }];
  });
}

/** Nodes that preflight blamed. They do not count once ranks train, or if they are not in this gang. */
function preflightSuspects(facts: Facts, attempt: Attempt): readonly Suspect[] {
  const { preflight, progress } = facts.observed;
  const hasRun = attempt.incarnation !== undefined || progress?.epoch === attempt.epoch;
  if (preflight?.epoch !== attempt.epoch || hasRun) return [];
  const { nodes, message } = preflight.named;
  const placement = placementOf(facts, attempt.epoch)?.spec;
  const placed = placement?.nodes ?? [];
  // A standby that differs takes no place of another pod, and keeps no gang from training.
  const isMember = (node: string): boolean => placement !== undefined && hasRanks(placement, placed.indexOf(node));
  return nodes
    .filter((node) => placed.includes(node) && isMember(node))
    .map((node) => ({
      podIndex: placed.indexOf(node),
      node,
      finishedAt: '',
      killed: false,
      reason: 'PreflightFailed' as const,
      message: `Preflight: ${message}`,
    }));
}

function missingSuspects(facts: Facts, attempt: Attempt): readonly Suspect[] {
  const about = { finishedAt: '', killed: false };
  const absent = attempt.stage === 'Creating' ? uncreatedIndices(facts, attempt) : missingIndices(facts, attempt);
  return absent.flatMap((podIndex): readonly Suspect[] => {
    const name = podName(facts.job.metadata, { epoch: attempt.epoch, podIndex, placement: attempt.placement });
    const isTaken = facts.foreignPodNames.has(name);
    if (isTaken && attempt.stage === 'Creating') {
      const message = `Pod ${name} exists and does not belong to this job. Coxswain does not change it; the next attempt uses other names.`;
      return [{ ...about, podIndex, reason: 'NameConflict', message }];
    }
    const refusal = attempt.stage === 'Creating' ? facts.refusedPods.get(name) : undefined;
    if (refusal !== undefined) {
      return [{ ...about, podIndex, reason: 'PodsRefused', message: `The cluster refuses pod ${name}: ${refusal}` }];
    }
    const node = placementOf(facts, attempt.epoch)?.spec.nodes[podIndex];
    // Before the first gate is lifted a missing pod is simply created.
    if (attempt.stage === 'Creating' || !(facts.isProven || isTaken)) return [];
    const successor = isTaken ? ', and another one has its name' : '';
    const message = `Pod ${name} on node ${node ?? 'unknown'} was deleted, and not by Coxswain${successor}.`;
    return [{ ...about, podIndex, reason: 'PodLost', message }];
  });
}

/** Pods that were deleted before they had a node. Before the first gate is lifted, they are released and created again. */
function strandedSuspects(facts: Facts, attempt: Attempt): readonly Suspect[] {
  if (attempt.stage === 'Creating') return [];
  const stranded = podsOf(facts, attempt.epoch).filter((pod) => willNeverRun(pod) && !isTerminal(pod));
  return stranded.map(({ name, podIndex }) => {
    const message = `Pod ${name} was deleted before it had a node, and not by Coxswain.`;
    return { podIndex, finishedAt: '', killed: false, reason: 'PodNeverRan', message };
  });
}
