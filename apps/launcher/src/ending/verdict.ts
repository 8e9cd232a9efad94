import {
  type CheckpointFault,
  EXIT_CODES,
  exitKindOf,
  howItEnded,
  type ExitKind,
  type RankAssignment,
  type StopFacts,
} from '@coxswain/api-types';
import { constants } from 'node:os';

/** How one rank's process ended. */
export type RankExit =
  { readonly kind: 'code'; readonly code: number } | { readonly kind: 'signal'; readonly signal: NodeJS.Signals };

/** How a launcher ends. */
export interface Verdict {
  readonly kind: ExitKind;
  /** Of the launcher. */
  readonly exitCode: number;
  readonly rank?: number;
  readonly signal?: NodeJS.Signals;
  /** The fault of the checkpoint to resume from, if it is known. */
  readonly checkpointFault?: CheckpointFault;
  /** Name of a suspect checkpoint that verified, for which no rank was started. */
  readonly verifiedCheckpoint?: string;
  /** One sentence. */
  readonly message: string;
  /** The operator ended the ranks, so that others can start in their place. */
  readonly isOrdered?: boolean;
  /** What happened since the ranks were asked to stop; absent: they were not asked. */
  readonly stop?: StopFacts;
  /** A process of the ranks has not ended although it was killed, so no other ranks may start beside it. */
  readonly leavesProcesses?: boolean;
}

/** Failures after which ranks can restart in the same pods; all others end the pod. */
const RESTARTABLE_IN_PLACE: readonly ExitKind[] = ['engineFailed', 'rendezvousPortLost'];

/** Whether other ranks may start in this pod after this verdict. */
export function canRestartInPlace(
  { kind, isOrdered = false, leavesProcesses = false }: Verdict,
  { onFailure }: Pick<RankAssignment, 'onFailure'>,
): boolean {
  return !leavesProcesses && (isOrdered || (onFailure === 'wait' && RESTARTABLE_IN_PLACE.includes(kind)));
}

/** A verdict without details of a rank. */
export function plainVerdict(
  kind: 'stopped' | 'fenced' | 'operatorUnreachable' | 'launcherFailed',
  message: string,
): Verdict {
  return { kind, exitCode: EXIT_CODES[kind].code, message };
}

/** Kinds that only a launcher may report: an engine that exits with their code has failed. */
const LAUNCHERS_OWN: readonly ExitKind[] = ['launcherFailed', 'fenced', 'operatorUnreachable'];

/** The code that a shell would give: 128 + n for signal n. */
export function codeOf(exit: RankExit): number {
  return exit.kind === 'code' ? exit.code : 128 + constants.signals[exit.signal];
}

/** Of several names of one signal the first, which is the usual one: SIGABRT and not SIGIOT. */
const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
);

/** The exit of a process that a signal ended; as the exit code of a shell if the signal has no name here. */
export function exitBySignal(number: number): RankExit {
  const signal = SIGNAL_NAMES.get(number);
  return signal === undefined
    ? { kind: 'code', code: Math.min(255, 128 + number) }
    : { kind: 'signal', signal: signal as NodeJS.Signals };
}

/** Whether a gang must end because this rank did. A rank that finished or stopped in good order leaves the others their time. */
export function isFailure(exit: RankExit): boolean {
  return exit.kind === 'signal' || (exit.code !== EXIT_CODES.finished.code && exit.code !== EXIT_CODES.stopped.code);
}

/** The verdict on a rank that failed. */
export function failedVerdict(rank: number, exit: RankExit, node: string): Verdict {
  const exitCode = codeOf(exit);
  const kind = exitKindOf(exitCode);
  const signal = exit.kind === 'signal' ? exit.signal : undefined;
  return {
    kind: LAUNCHERS_OWN.includes(kind) ? 'engineFailed' : kind,
    exitCode,
    rank,
    ...(signal === undefined ? {} : { signal }),
    message: `rank ${rank} on node ${node} ${howItEnded({ exitCode, signal })}`,
  };
}

/** The verdict on a starter that failed and names no rank. */
export function starterVerdict(name: string, exit: RankExit): Verdict {
  const exitCode = codeOf(exit);
  const signal = exit.kind === 'signal' ? exit.signal : undefined;
  return {
    kind: 'engineFailed',
    exitCode,
    ...(signal === undefined ? {} : { signal }),
    message: `${name} ${howItEnded({ exitCode, signal })} and named no rank`,
  };
}

/** The verdict if no rank could be started. */
export function notStarted(ranks: readonly number[], message: string): Verdict {
  return { kind: 'launcherFailed', exitCode: EXIT_CODES.launcherFailed.code, ...onlyRank(ranks), message };
}

/** The verdict on a process that had not ended when its grace was over. */
export function lateVerdict(
  { ranks, name }: { readonly ranks: readonly number[]; readonly name: string },
  { graceMs, node }: { readonly graceMs: number; readonly node: string },
): Verdict {
  const message = `${name} on node ${node} did not stop within ${Math.round(graceMs / 1000)} s and was killed`;
  return { kind: 'stopped', exitCode: 128 + 9, ...onlyRank(ranks), signal: 'SIGKILL', message };
}

function onlyRank([rank, second]: readonly number[]): { readonly rank?: number } {
  return rank === undefined || second !== undefined ? {} : { rank };
}

/** The verdict on ranks that all ended in good order: stopped when one of them did. */
export function orderlyVerdict(exits: readonly RankExit[]): Verdict {
  const hasStopped = exits.some((exit) => codeOf(exit) === EXIT_CODES.stopped.code);
  const kind = hasStopped ? 'stopped' : 'finished';
  const message = hasStopped ? 'the ranks stopped as they were asked to' : 'every rank finished';
  return { kind, exitCode: EXIT_CODES[kind].code, message };
}

/** Adds the fault that the rank reported of the checkpoint, if the exit code names the checkpoint as the reason. */
export function withCheckpointFault(verdict: Verdict, fault: CheckpointFault | undefined): Verdict {
  if (fault === undefined || verdict.kind !== exitKindOfFault(fault)) return verdict;
  return { ...verdict, checkpointFault: fault };
}

/** The verdict of a launcher that could not verify the checkpoint. */
export function checkpointVerdict(message: string, fault: CheckpointFault | undefined): Verdict {
  const kind = fault === undefined ? 'checkpointUnreadable' : exitKindOfFault(fault);
  const { code } = EXIT_CODES[kind];
  return { kind, exitCode: code, message, ...(fault === undefined ? {} : { checkpointFault: fault }) };
}

/** The same verdict after the launcher has read the checkpoint itself. */
export function withConfirmedFault(verdict: Verdict, fault: CheckpointFault): Verdict {
  const kind = exitKindOfFault(fault);
  return { ...verdict, kind, exitCode: EXIT_CODES[kind].code, checkpointFault: fault };
}

/** The verdict of a launcher that found a newer checkpoint well than the one to resume from. */
export function verifiedVerdict(checkpoint: string): Verdict {
  const { code } = EXIT_CODES.checkpointIoError;
  const message = `checkpoint ${checkpoint} verified again, so the job resumes from it and not from an older one`;
  return { kind: 'checkpointIoError', exitCode: code, verifiedCheckpoint: checkpoint, message };
}

function exitKindOfFault({ kind }: CheckpointFault): 'checkpointUnreadable' | 'checkpointIoError' {
  return kind === 'ContentDiffers' ? 'checkpointUnreadable' : 'checkpointIoError';
}
