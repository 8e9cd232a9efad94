import { type Attempt, type AttemptReason, exitKindOf, type ExitKind, howItEnded } from '@coxswain/api-types';
import { endOfText } from '@coxswain/safe-text';
import { type Facts, isTerminal, nodeStateOf, placementOf, podCount } from './facts.ts';
import { podName } from './names.ts';
import type { ObservedPod } from './observed.ts';

/** How long after the gates were lifted every pod must have a node. */
export const SCHEDULING_TIMEOUT_MS = 300_000;

/** Why an attempt cannot go on. */
export interface Failure {
  readonly reason: AttemptReason;
  /** Rank, node, exit code and last lines, as far as known. */
  readonly message: string;
  readonly lastStep?: number;
}

interface Suspect extends Failure {
  readonly podIndex: number;
  readonly finishedAt: string;
  /** A rank killed by a signal rather than leaving by itself: of failures in the same second the likelier origin. */
  readonly killed: boolean;
}

/**
 * When one rank fails, its peers fail after it with broken connections. So the origin is looked for in this order: what can only be said
 * on purpose, what came from outside, then the earliest exit. Kubernetes gives exit times in whole seconds, hence the tie-breakers.
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
  'EngineFailed',
  'LauncherFailed',
  'PodLost',
  'NotScheduled',
];

/** What went wrong with the attempt, if anything has. */
export function failureOf(facts: Facts, attempt: Attempt, now: Date): Failure | undefined {
  const [origin] = suspects(facts, attempt, now).toSorted(
    (left, right) =>
      ORIGIN_FIRST.indexOf(left.reason) - ORIGIN_FIRST.indexOf(right.reason) ||
      compareText(left.finishedAt, right.finishedAt) ||
      Number(right.killed) - Number(left.killed) ||
      left.podIndex - right.podIndex,
  );
  if (origin === undefined) return undefined;
  const { reason, message, lastStep } = origin;
  return { reason, message, ...(lastStep === undefined ? {} : { lastStep }) };
}

/** Names of the attempt's pods that are not observed; the caller decides what their absence means. */
export function missingPodNames(facts: Facts, attempt: Attempt): readonly string[] {
  return missingIndices(facts, attempt).map((podIndex) =>
    podName(facts.job.metadata, { epoch: attempt.epoch, podIndex }),
  );
}

/** Indices of the attempt's pods that are not observed. Without its Placement no pod is known to be missing. */
export function missingIndices(facts: Facts, attempt: Attempt): readonly number[] {
  const placement = placementOf(facts, attempt.epoch);
  if (placement === undefined) return [];
  const present = new Set(podsOf(facts, attempt.epoch).map((pod) => pod.podIndex));
  return Array.from({ length: podCount(placement.spec) }, (_, index) => index).filter((index) => !present.has(index));
}

export function podsOf(facts: Facts, epoch: number): readonly ObservedPod[] {
  return facts.pods.filter((pod) => pod.epoch === epoch);
}

function suspects(facts: Facts, attempt: Attempt, now: Date): readonly Suspect[] {
  const present = podsOf(facts, attempt.epoch).flatMap((pod) => suspectPod(facts, attempt, pod) ?? []);
  return [...present, ...missingSuspects(facts, attempt), ...unscheduledSuspects(facts, attempt, now)];
}

function suspectPod(facts: Facts, attempt: Attempt, pod: ObservedPod): Suspect | undefined {
  const node = pod.nodeName ?? placementOf(facts, attempt.epoch)?.spec.nodes[pod.podIndex];
  const state = nodeStateOf(facts, node);
  const about = {
    podIndex: pod.podIndex,
    finishedAt: pod.exit?.finishedAt ?? '',
    killed: pod.exit?.cause?.signal !== undefined || (pod.exit?.exitCode ?? 0) > 128,
    ...(pod.exit?.cause?.lastStep === undefined ? {} : { lastStep: pod.exit.cause.lastStep }),
  };
  if (!isTerminal(pod)) {
    if (state === 'ready') return undefined;
    return {
      ...about,
      reason: 'NodeLost',
      message: `Node ${node ?? 'unknown'} of pod ${pod.name} is ${words(state)}.`,
    };
  }
  if (pod.phase === 'Succeeded') return undefined;
  const reason = reasonOfExit(pod, attempt, state !== 'ready');
  return { ...about, reason, message: describeExit(pod, node ?? 'unknown') };
}

function missingSuspects(facts: Facts, attempt: Attempt): readonly Suspect[] {
  const about = { finishedAt: '', killed: false };
  return missingIndices(facts, attempt).flatMap((podIndex): readonly Suspect[] => {
    const name = podName(facts.job.metadata, { epoch: attempt.epoch, podIndex });
    if (facts.foreignPodNames.has(name)) {
      const message = `Pod ${name} exists and does not belong to this job; delete it, then make the job anew.`;
      return [{ ...about, podIndex, reason: 'NameConflict', message }];
    }
    const refusal = attempt.stage === 'Creating' ? facts.refusedPods.get(name) : undefined;
    if (refusal !== undefined) {
      return [{ ...about, podIndex, reason: 'PodsRefused', message: `The cluster refuses pod ${name}: ${refusal}` }];
    }
    const node = placementOf(facts, attempt.epoch)?.spec.nodes[podIndex];
    const state = nodeStateOf(facts, node);
    if (state !== 'ready') {
      const message = `Node ${node ?? 'unknown'} of pod ${name} is ${words(state)}.`;
      return [{ ...about, podIndex, reason: 'NodeLost', message }];
    }
    // Before the first gate is lifted a missing pod is simply created.
    if (attempt.stage === 'Creating' || !facts.isProven) return [];
    const message = `Pod ${name} on node ${node ?? 'unknown'} was deleted by somebody else.`;
    return [{ ...about, podIndex, reason: 'PodLost', message }];
  });
}

function unscheduledSuspects(facts: Facts, attempt: Attempt, now: Date): readonly Suspect[] {
  if (attempt.stage !== 'Released' || now.getTime() < schedulingDeadline(attempt)) return [];
  return podsOf(facts, attempt.epoch)
    .filter((pod) => pod.nodeName === undefined && !isTerminal(pod))
    .map((pod) => ({
      podIndex: pod.podIndex,
      finishedAt: '',
      killed: false,
      reason: 'NotScheduled',
      message: `Pod ${pod.name} got no node within ${SCHEDULING_TIMEOUT_MS / 1000} s: ${pod.schedulingMessage ?? 'the scheduler gave no reason'}`,
    }));
}

/** When the gang must be scheduled, in milliseconds since the epoch; never, where that cannot be told. */
export function schedulingDeadline(attempt: Attempt): number {
  const releasedMs = Date.parse(attempt.releasedAt ?? '');
  return Number.isNaN(releasedMs) ? Number.POSITIVE_INFINITY : releasedMs + SCHEDULING_TIMEOUT_MS;
}

/** status.reason of pods that the kubelet ended or turned away without the engine's doing. */
const TURNED_AWAY =
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

function reasonOfExit(pod: ObservedPod, { epoch, resumedFrom }: Attempt, nodeLost: boolean): AttemptReason {
  const said = exitKind(pod, epoch);
  // Nothing was to be loaded, so that code means something else to this engine.
  const isMisunderstood =
    resumedFrom === undefined && (said === 'checkpointUnreadable' || said === 'checkpointIoError');
  const kind = isMisunderstood ? 'engineFailed' : said;
  if (kind !== undefined && SAID_ON_PURPOSE.includes(kind)) return REASON_OF_KIND[kind];
  if (nodeLost || pod.statusReason === 'NodeLost') return 'NodeLost';
  if (pod.disruption !== undefined || TURNED_AWAY.test(pod.statusReason ?? '')) return 'Evicted';
  return kind === undefined ? 'LauncherFailed' : REASON_OF_KIND[kind];
}

const MAX_LOG_CHARACTERS = 6_000;

/** `Rank 3 on node gpu-b exited with code 1. Last lines of its log: ...` */
function describeExit(pod: ObservedPod, node: string): string {
  const { exit } = pod;
  const where = `on node ${node}`;
  const disrupted = pod.disruption ?? pod.statusReason;
  const why = disrupted === undefined ? '' : ` (${disrupted})`;
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

function words(state: 'notReady' | 'gone' | 'ready'): string {
  return { notReady: 'not ready', gone: 'gone', ready: 'ready' }[state];
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
