import {
  type Attempt,
  type AttemptReason,
  type AvoidedNodeReason,
  AVOIDED_NODE_REASONS,
  EXIT_CODES,
  exitKindOf,
  type ExitKind,
  howItEnded,
  lostItsPeer,
  ranksOfPod,
  podName,
} from '@coxswain/api-types';
import type { CrashFacts } from '@coxswain/health';
import { endOfText } from '@coxswain/safe-text';
import {
  doesAnswer,
  type Facts,
  isTerminal,
  nodeStateOf,
  placementOf,
  podCount,
  willNeverRun,
} from '../observation/facts.ts';
import { checkpointLoadedBy, isOfSameCheckpoint } from './checkpoint-trouble.ts';
import { missingIndices, podsOf } from '../observation/gang.ts';
import { isLeftBehind, isOfEarlierIncarnation, isOfFence, launcherOf } from '../observation/incarnation.ts';
import { judgeNodes } from './lost-nodes.ts';
import type { ObservedPod, Verdict } from '../observation/observed.ts';
import { overduePods } from './overdue.ts';

/** Why an attempt cannot go on. */
export interface Failure {
  readonly reason: AttemptReason;
  /** Rank, node, exit code and last lines, as far as known. */
  readonly message: string;
  readonly lastStep?: number;
  /** What shows of which class it is. */
  readonly crash: CrashFacts;
  /** The node that is to blame, where there is one to blame. */
  readonly node?: string | undefined;
  /** Where it was seen, whoever is to blame. */
  readonly where?: string;
  /** That failed first, or that is named. */
  readonly rank?: number;
  /** Nodes that the next attempts are to keep away from. */
  readonly avoid?: { readonly nodes: readonly string[]; readonly reason: AvoidedNodeReason };
}

interface Suspect extends Omit<Failure, 'avoid' | 'crash' | 'where'> {
  /** Of a pod that ended. */
  readonly exit?: Omit<CrashFacts, 'nodeConditions'>;
  /** The node that is to blame, where the reason is one of a node's. */
  readonly node?: string | undefined;
  readonly podIndex: number;
  readonly finishedAt: string;
  /** A rank killed by a signal rather than leaving by itself: of failures in the same second the likelier origin. */
  readonly killed: boolean;
  /** It tells of nothing but another rank that is gone: where any other failed, that one came before. */
  readonly hasLostPeer?: boolean;
}

/**
 * When one rank fails, its peers fail after it with broken connections. So the origin is looked for in this order: what can only be said
 * on purpose, what came from outside, what is no lost peer, then the earliest exit. Kubernetes gives exit times in whole seconds, hence the tie-breakers.
 */
const ORIGIN_FIRST: readonly AttemptReason[] = [
  'NameConflict',
  'PodsRefused',
  'PlacementLost',
  'DoNotRestart',
  'CheckpointUnreadable',
  'CheckpointIoError',
  'RendezvousPortLost',
  'NodeLost',
  'Evicted',
  'TurnedAway',
  'PodNeverRan',
  'SecretMissing',
  'NotStarted',
  'EngineFailed',
  'LauncherFailed',
  'PodLost',
  'Condemned',
  'Hung',
  'PreflightFailed',
  'NotCreated',
  'NotScheduled',
  'NotReaped',
];

/** What went wrong with the attempt, if anything has. */
export function failureOf(facts: Facts, attempt: Attempt): Failure | undefined {
  const all = suspects(facts, attempt);
  const [origin] = all.toSorted(
    (left, right) =>
      ORIGIN_FIRST.indexOf(left.reason) - ORIGIN_FIRST.indexOf(right.reason) ||
      Number(left.hasLostPeer ?? false) - Number(right.hasLostPeer ?? false) ||
      compareText(left.finishedAt, right.finishedAt) ||
      Number(right.killed) - Number(left.killed) ||
      left.podIndex - right.podIndex,
  );
  if (origin === undefined) return undefined;
  const { reason, message, lastStep, node, exit, rank, podIndex } = origin;
  const placement = placementOf(facts, attempt.epoch)?.spec;
  const nodeConditions = node === undefined ? [] : (facts.observed.nodeConditionsOf?.(node) ?? []);
  const avoid = avoidedFor(reason, all, placement?.nodes.length ?? 0);
  const where = node ?? (reason === 'Hung' ? undefined : placement?.nodes[podIndex]);
  return {
    reason,
    message,
    crash: { lastLines: [], ...exit, nodeConditions },
    node,
    ...(where === undefined ? {} : { where }),
    ...(rank === undefined ? {} : { rank }),
    ...(lastStep === undefined ? {} : { lastStep }),
    ...(avoid === undefined ? {} : { avoid }),
  };
}

/**
 * Whatever failed for the same reason is one failure: a rack is avoided as a whole. Trouble with storage, with reaching the operator or with being
 * taken at all that most of the gang has is none of its nodes' doing.
 */
function avoidedFor(reason: AttemptReason, all: readonly Suspect[], gangNodes: number): Failure['avoid'] {
  if (!isReasonToAvoid(reason)) return undefined;
  const nodes = new Set(all.flatMap((suspect) => (suspect.reason === reason ? (suspect.node ?? []) : [])));
  if (TROUBLE_OF_MANY.includes(reason) && nodes.size > 1 && nodes.size * 2 > gangNodes) return undefined;
  return { nodes: [...nodes], reason };
}

const TROUBLE_OF_MANY: readonly AttemptReason[] = ['CheckpointIoError', 'NotStarted', 'TurnedAway'];

function isReasonToAvoid(reason: AttemptReason): reason is AttemptReason & AvoidedNodeReason {
  return Object.hasOwn(AVOIDED_NODE_REASONS, reason);
}

function suspects(facts: Facts, attempt: Attempt): readonly Suspect[] {
  const found = [
    ...podsOf(facts, attempt.epoch).flatMap(
      (pod) => suspectExit(facts, attempt, pod) ?? suspectReaped(facts, attempt, pod) ?? [],
    ),
    ...missingSuspects(facts, attempt),
    ...strandedSuspects(facts, attempt),
  ];
  return [
    ...found,
    ...lostNodeSuspects(facts, attempt, found.length > 0),
    ...condemnedSuspects(facts, attempt),
    ...preflightSuspects(facts, attempt),
    ...overduePods(facts, attempt).map((late) => ({ ...late, finishedAt: '', killed: false })),
  ];
}

function suspectExit(facts: Facts, attempt: Attempt, seen: ObservedPod): Suspect | undefined {
  // Whoever finishes as its gang is started again will not be back: what it has finished counts no more.
  const isBehind = isLeftBehind(facts, seen, attempt);
  if (!isTerminal(seen) || (seen.phase === 'Succeeded' && !isBehind)) return undefined;
  const pod = isBehind ? seen : withoutOldCause(seen, attempt);
  const node = pod.nodeName ?? placementOf(facts, attempt.epoch)?.spec.nodes[pod.podIndex];
  const { exit } = pod;
  const reason = reasonOfExit(pod, attempt, !doesAnswer(nodeStateOf(facts, node)));
  const how = describeExit(pod, node ?? 'unknown');
  return {
    podIndex: pod.podIndex,
    node: saysNothingAgainstNode(reason, placementOf(facts, attempt.epoch)?.spec.nodes.length ?? 0) ? undefined : node,
    finishedAt: exit?.finishedAt ?? '',
    killed: exit?.cause?.signal !== undefined || (exit?.exitCode ?? 0) > 128,
    hasLostPeer: exit?.cause?.signal === undefined && lostItsPeer(exit?.cause?.lastLines ?? []),
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
    message: reason === 'NotReaped' ? `Pod ${pod.name} ended before its ranks were started again. ${how}` : how,
  };
}

/** A launcher that ended because nobody led, or had finished; and one that reached no operator, where no other node of the gang shows that one was there. */
function saysNothingAgainstNode(reason: AttemptReason, gangNodes: number): boolean {
  return reason === 'NotReaped' || (reason === 'NotStarted' && gangNodes === 1);
}

/**
 * A pod that lives on although a rank of it failed: its launcher says so over its connection. What is said of an earlier incarnation is counted
 * already, and ranks that were ended by order have no cause. A later one than is recorded was begun all the same: an operator of a release that
 * knows of no incarnations has written the status since.
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

/** What a pod tells of a run that was answered long ago says nothing of how it ended. */
function withoutOldCause(pod: ObservedPod, attempt: Attempt): ObservedPod {
  if (!isOfEarlierIncarnation(pod.exit?.cause, attempt) || pod.exit === undefined) return pod;
  const { cause: _, ...exit } = pod.exit;
  return { ...pod, exit };
}

const SHOWN_NODES = 8;

/** Nodes that fail together are one failure, told in one sentence. */
function lostNodeSuspects(facts: Facts, attempt: Attempt, hasFailed: boolean): readonly Suspect[] {
  const { lost } = judgeNodes(facts, attempt, hasFailed);
  const words = lost.map((node) => `${node} (${nodeStateOf(facts, node) === 'gone' ? 'gone' : 'not ready'})`);
  const more = lost.length > SHOWN_NODES ? ` and ${lost.length - SHOWN_NODES} more` : '';
  const message = `Lost node${lost.length === 1 ? '' : 's'} ${words.slice(0, SHOWN_NODES).join(', ')}${more}.`;
  return lost.map((node) => ({ podIndex: 0, node, finishedAt: '', killed: false, reason: 'NodeLost', message }));
}

/** What detectors say counts for the epoch that they mean, and for nodes of its gang. */
function condemnedSuspects(facts: Facts, attempt: Attempt): readonly Suspect[] {
  return verdictsOn(facts, attempt).flatMap((verdict): readonly Suspect[] => {
    const { message } = verdict;
    if (verdict.about.kind === 'gang') return [{ podIndex: 0, finishedAt: '', killed: false, reason: 'Hung', message }];
    const podIndex = condemnedPod(facts, attempt, verdict);
    const node = placementOf(facts, attempt.epoch)?.spec.nodes[podIndex];
    if (node === undefined) return [];
    const rank = verdict.about.kind === 'rank' ? { rank: verdict.about.rank } : {};
    return [{ podIndex, node, ...rank, finishedAt: '', killed: false, reason: 'Condemned', message }];
  });
}

/** What detectors say of the run that is under way. */
export function verdictsOn({ observed }: Facts, { epoch, incarnation = 1 }: Attempt): readonly Verdict[] {
  return (observed.verdicts ?? []).filter(
    (verdict) => verdict.epoch === epoch && (verdict.incarnation ?? incarnation) === incarnation,
  );
}

/** Whoever was named before the first rank; too late for ranks that train already. Nodes of other gangs are none of this one's. */
function preflightSuspects(facts: Facts, attempt: Attempt): readonly Suspect[] {
  const { preflight, progress } = facts.observed;
  const hasRun = attempt.incarnation !== undefined || progress?.epoch === attempt.epoch;
  if (preflight?.epoch !== attempt.epoch || hasRun) return [];
  const { nodes, message } = preflight.named;
  const placed = placementOf(facts, attempt.epoch)?.spec.nodes ?? [];
  return nodes
    .filter((node) => placed.includes(node))
    .map((node) => ({
      podIndex: placed.indexOf(node),
      node,
      finishedAt: '',
      killed: false,
      reason: 'PreflightFailed' as const,
      message: `Preflight: ${message}`,
    }));
}

/** -1: it is none of the gang's. */
function condemnedPod(facts: Facts, attempt: Attempt, { about }: Verdict): number {
  const placement = placementOf(facts, attempt.epoch)?.spec;
  if (placement === undefined) return -1;
  if (about.kind === 'node') return placement.nodes.indexOf(about.node);
  if (about.kind === 'gang') return -1;
  const indices = Array.from({ length: podCount(placement) }, (_, podIndex) => podIndex);
  return indices.findIndex((podIndex) => ranksOfPod(placement, podIndex).includes(about.rank));
}

function missingSuspects(facts: Facts, attempt: Attempt): readonly Suspect[] {
  const about = { finishedAt: '', killed: false };
  return missingIndices(facts, attempt).flatMap((podIndex): readonly Suspect[] => {
    const name = podName(facts.job.metadata, { epoch: attempt.epoch, podIndex, placement: attempt.placement });
    const isTaken = facts.foreignPodNames.has(name);
    if (isTaken && attempt.stage === 'Creating') {
      const message = `Pod ${name} exists and does not belong to this job; it is left as it is, and the next epoch has other names.`;
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
    const message = `Pod ${name} on node ${node ?? 'unknown'} was deleted by somebody else${successor}.`;
    return [{ ...about, podIndex, reason: 'PodLost', message }];
  });
}

/** Before the first gate is lifted such a pod is let go of, and made again. */
function strandedSuspects(facts: Facts, attempt: Attempt): readonly Suspect[] {
  if (attempt.stage === 'Creating') return [];
  const stranded = podsOf(facts, attempt.epoch).filter((pod) => willNeverRun(pod) && !isTerminal(pod));
  return stranded.map(({ name, podIndex }) => {
    const message = `Pod ${name} was deleted by somebody else before it had a node.`;
    return { podIndex, finishedAt: '', killed: false, reason: 'PodNeverRan', message };
  });
}

/** status.reason of pods that the kubelet ended without the engine's doing. */
const ENDED_BY_KUBELET =
  /^(Evicted|Preempt|Shutdown|Terminated|NodeShutdown|NodeAffinity|NodePorts|OutOf|UnexpectedAdmission|TaintToleration|Unschedulable)/i;

const REASON_OF_KIND: Readonly<Record<ExitKind, AttemptReason>> = {
  finished: 'LauncherFailed', // the pod failed although its launcher says it finished
  engineFailed: 'EngineFailed',
  launcherFailed: 'LauncherFailed',
  rendezvousPortLost: 'RendezvousPortLost',
  checkpointUnreadable: 'CheckpointUnreadable',
  checkpointIoError: 'CheckpointIoError',
  fenced: 'LauncherFailed', // only an epoch whose failure is recorded already is fenced
  stopped: 'Evicted', // somebody asked the gang to stop, and it was not us
  operatorUnreachable: 'NotStarted', // it was never given ranks
  doNotRestart: 'DoNotRestart',
};

/** How the launcher ended: its own word, where it is of this epoch, else its exit code. */
export function exitKind(pod: ObservedPod, epoch: number): ExitKind | undefined {
  const { exit } = pod;
  if (exit === undefined) return undefined;
  return exit.cause?.epoch === epoch ? exit.cause.kind : exitKindOf(exit.exitCode);
}

/** Kinds that can only be said on purpose: they stand even where the node is lost as well. */
const SAID_ON_PURPOSE: readonly ExitKind[] = [
  'doNotRestart',
  'checkpointUnreadable',
  'checkpointIoError',
  'rendezvousPortLost',
];

function reasonOfExit(pod: ObservedPod, attempt: Attempt, nodeLost: boolean): AttemptReason {
  const said = exitKind(pod, attempt.epoch);
  const cause = pod.exit?.cause;
  const isEarlier = isOfEarlierIncarnation(cause, attempt);
  const isOfCheckpoint = said === 'checkpointUnreadable' || said === 'checkpointIoError';
  // Nothing was to be loaded, so that code means something else to this engine.
  const isMisunderstood = isOfCheckpoint && checkpointLoadedBy(cause, attempt) === undefined;
  const kind = isMisunderstood ? 'engineFailed' : said;
  const isNews = !isEarlier || kind === 'doNotRestart' || (isOfCheckpoint && isOfSameCheckpoint(cause, attempt));
  if (isNews && kind !== undefined && SAID_ON_PURPOSE.includes(kind)) return REASON_OF_KIND[kind];
  if (nodeLost || pod.statusReason === 'NodeLost') return 'NodeLost';
  if (pod.disruption !== undefined) return 'Evicted';
  if (isTurnedAway(pod)) return 'TurnedAway';
  if (ENDED_BY_KUBELET.test(pod.statusReason ?? '')) return 'Evicted';
  // Its failure was told over its connection before, and counted.
  if (isEarlier) return 'NotReaped';
  return kind === undefined ? 'LauncherFailed' : REASON_OF_KIND[kind];
}

/**
 * Whether its kubelet ended the pod before a container had run: there is no telling by the reason, of which kubelets have dozens
 * (UnexpectedAdmissionError, TopologyAffinityError, OutOfcpu, Evicted). It would do the same to the next one.
 */
function isTurnedAway({ exit, running, statusReason, disruption }: ObservedPod): boolean {
  return exit === undefined && !running && statusReason !== undefined && disruption === undefined;
}

const MAX_LOG_CHARACTERS = 6_000;

/** `Rank 3 on node gpu-b exited with code 1. Last lines of its log: ...` */
function describeExit(pod: ObservedPod, node: string): string {
  const { exit } = pod;
  const where = `on node ${node}`;
  const disrupted = pod.disruption ?? pod.statusReason;
  const why = disrupted === undefined ? '' : ` (${disrupted})`;
  if (isTurnedAway(pod)) {
    const said = pod.statusMessage === undefined ? '.' : `: ${pod.statusMessage}`;
    return `Node ${node} ended pod ${pod.name} before any container had run${why}${said}`;
  }
  if (exit === undefined) return `Pod ${pod.name} ${where} ended without an exit code${why}.`;
  const { cause } = exit;
  const how = howItEnded({ exitCode: cause?.exitCode ?? exit.exitCode, signal: cause?.signal });
  const who = cause?.rank === undefined ? `Pod ${pod.name}` : `Rank ${cause.rank}`;
  const runtime = ['Error', 'Completed', ''].includes(exit.reason) ? '' : `, ${exit.reason}`;
  // Of a rank the launcher says the same, in the same words.
  const said = cause === undefined || cause.rank !== undefined || cause.message === '' ? '' : ` ${cause.message}`;
  const lines = cause === undefined || cause.lastLines.length === 0 ? '' : cause.lastLines.join('\n');
  const log = lines === '' ? '' : `\nLast lines of its log:\n${endOfText(lines, MAX_LOG_CHARACTERS)}`;
  return `${who} ${where} ${how}${runtime}${why}.${said}${log}`;
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
