/** Why and how did a pod of a gang end? */
import { type Attempt, type AttemptReason, exitKindOf, type ExitKind, howItEnded } from '@coxswain/api-types';
import { endOfText } from '@coxswain/safe-text';
import type { ObservedPod } from '../observation/observed.ts';
import { isOfEarlierIncarnation } from '../observation/incarnation.ts';
import { exceededOwnLimit } from './blameless-causes.ts';
import { checkpointLoadedBy, isOfSameCheckpoint } from './checkpoint-trouble.ts';
import { LOG_HEADING } from './last-lines.ts';

/** Values of status.reason of pods that the kubelet ended without the engine's doing. */
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

/** How the launcher ended: as it reported for this epoch, otherwise by its exit code. */
export function exitKind(pod: ObservedPod, epoch: number): ExitKind | undefined {
  const { exit } = pod;
  if (exit === undefined) return undefined;
  return exit.cause?.epoch === epoch ? exit.cause.kind : exitKindOf(exit.exitCode);
}

/** Exits that a launcher only makes on purpose. They count even if the node is lost as well. */
const DELIBERATE_KINDS: readonly ExitKind[] = [
  'doNotRestart',
  'checkpointUnreadable',
  'checkpointIoError',
  'rendezvousPortLost',
];

/** Why the attempt cannot go on, as far as the end of this pod shows. `nodeLost`: its node does not answer. */
export function reasonOfExit(pod: ObservedPod, attempt: Attempt, nodeLost: boolean): AttemptReason {
  const reported = exitKind(pod, attempt.epoch);
  const cause = pod.exit?.cause;
  const isEarlier = isOfEarlierIncarnation(cause, attempt);
  const isOfCheckpoint = reported === 'checkpointUnreadable' || reported === 'checkpointIoError';
  // No checkpoint was to be loaded, so the code means something else to this engine.
  const isMisunderstood = isOfCheckpoint && checkpointLoadedBy(cause, attempt) === undefined;
  const kind = isMisunderstood ? 'engineFailed' : reported;
  const isNews = !isEarlier || kind === 'doNotRestart' || (isOfCheckpoint && isOfSameCheckpoint(cause, attempt));
  if (isNews && kind !== undefined && DELIBERATE_KINDS.includes(kind)) return REASON_OF_KIND[kind];
  if (nodeLost || pod.statusReason === 'NodeLost') return 'NodeLost';
  if (exceededOwnLimit(pod)) return 'LimitExceeded';
  if (pod.disruption !== undefined) return 'Evicted';
  if (isTurnedAway(pod)) return 'TurnedAway';
  if (ENDED_BY_KUBELET.test(pod.statusReason ?? '')) return 'Evicted';
  // Its failure was reported over its connection before, and counted.
  if (isEarlier) return 'NotReaped';
  return kind === undefined ? 'LauncherFailed' : REASON_OF_KIND[kind];
}

/**
 * Whether the kubelet rejected the pod before a container ran. Kubelets have dozens of reasons (UnexpectedAdmissionError,
 * TopologyAffinityError, OutOfcpu, Evicted), so the reason is not checked. It would reject the next pod too.
 */
function isTurnedAway({ exit, running, statusReason, disruption }: ObservedPod): boolean {
  return exit === undefined && !running && statusReason !== undefined && disruption === undefined;
}

const MAX_LOG_CHARACTERS = 6_000;

/** `Rank 3 on node gpu-b exited with code 1. Last lines of its log: ...` */
export function describeExit(pod: ObservedPod, node: string): string {
  const { exit } = pod;
  const where = `on node ${node}`;
  const disrupted = pod.disruption ?? pod.statusReason;
  const why = disrupted === undefined ? '' : ` (${disrupted})`;
  // The kubelet's own sentence.
  const kubelet = pod.statusMessage === undefined ? '' : ` ${pod.statusMessage.trim()}`;
  if (isTurnedAway(pod)) {
    const detail = pod.statusMessage === undefined ? '.' : `: ${pod.statusMessage}`;
    return `Node ${node} ended pod ${pod.name} before any container had run${why}${detail}`;
  }
  if (exit === undefined) return `Pod ${pod.name} ${where} ended without an exit code${why}.${kubelet}`;
  const { cause } = exit;
  const how = howItEnded({ exitCode: cause?.exitCode ?? exit.exitCode, signal: cause?.signal });
  const who = cause?.rank === undefined ? `Pod ${pod.name}` : `Rank ${cause.rank}`;
  const runtime = ['Error', 'Completed', ''].includes(exit.reason) ? '' : `, ${exit.reason}`;
  // For a rank, the launcher's message repeats this sentence.
  const detail = cause === undefined || cause.rank !== undefined || cause.message === '' ? '' : ` ${cause.message}`;
  const lines = cause === undefined || cause.lastLines.length === 0 ? '' : cause.lastLines.join('\n');
  const log = lines === '' ? '' : `\n${LOG_HEADING}\n${endOfText(lines, MAX_LOG_CHARACTERS)}`;
  return `${who} ${where} ${how}${runtime}${why}.${kubelet}${detail}${log}`;
}
