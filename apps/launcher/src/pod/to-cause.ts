/** What does the launcher report about the end of its ranks? */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type EngineRun, formatRanks, type RankAssignment, type TerminationCause } from '@coxswain/api-types';
import { fitCause } from '../ending/termination.ts';
import type { Verdict } from '../ending/verdict.ts';
import { engineRunOf } from '../engine/engine-run.ts';
import { hasFile } from '../checkpoints/saved-files.ts';
import type { Gang } from '../gang/gang.ts';
import { cpuMsOfEndedChildren } from '../processes/process-facts.ts';
import type { Settings } from '../program/settings.ts';
import type { Reporter } from '../reports/reporter.ts';

/** How long the storage may take to list a directory. */
const STORAGE_MS = 2_000;
/** Contract of the field. */
const MAX_RANKS_CHARACTERS = 96;

/** The ranks that ended; absent before the first. */
interface Ended {
  readonly settings: Settings;
  readonly reporter: Pick<Reporter, 'lastStep' | 'collectives' | 'unreportedCheckpoints' | 'readsWork' | 'readsStop'>;
  readonly gang?: Pick<Gang, 'lastLinesOf' | 'lastLinesOfFinished' | 'facts' | 'processes'>;
  readonly assignment?: RankAssignment;
}

/** The cause as the operator reads it from the last message and from the termination message. */
export function toCause(
  verdict: Verdict,
  about: Ended & { readonly work?: TerminationCause['work'] },
): TerminationCause {
  const { settings, reporter, assignment, work } = about;
  const { lastStep } = reporter;
  const incarnation = assignment?.incarnation ?? 1;
  return fitCause({
    version: 1,
    kind: verdict.kind,
    epoch: settings.epoch,
    // Absent for the first, so that an operator of the previous release can read it.
    ...(incarnation === 1 ? {} : { incarnation }),
    node: settings.nodeName.slice(0, 253),
    ...(verdict.rank === undefined ? {} : { rank: verdict.rank }),
    exitCode: verdict.exitCode,
    ...(verdict.signal === undefined ? {} : { signal: verdict.signal }),
    message: verdict.message,
    lastLines: [...linesOf(verdict, about)],
    ...(lastStep === undefined ? {} : { lastStep }),
    ...(verdict.checkpointFault === undefined ? {} : { checkpointFault: verdict.checkpointFault }),
    ...(verdict.verifiedCheckpoint === undefined ? {} : { verifiedCheckpoint: verdict.verifiedCheckpoint }),
    ...(verdict.stop === undefined || !reporter.readsStop ? {} : { stop: verdict.stop }),
    ...(work === undefined ? {} : { work }),
    ...finishedBefore(verdict, about),
    unreportedCheckpoints: [...reporter.unreportedCheckpoints],
  });
}

/** Peers of a rank that ended by itself lose their connection to it, and fail: its end comes first. */
function finishedBefore({ kind, rank }: Verdict, { gang, reporter }: Ended): Pick<TerminationCause, 'finishedRanks'> {
  if (kind !== 'engineFailed' || !reporter.readsWork) return {};
  const finished = (gang?.processes ?? []).flatMap(({ finishedRanks }) => finishedRanks);
  const ranks = finished.filter((one) => one !== rank);
  const text = formatRanks(ranks);
  return ranks.length === 0 || text.length > MAX_RANKS_CHARACTERS ? {} : { finishedRanks: text };
}

/** What the launcher observed of the work of ranks that finished; undefined if the operator does not read it. */
export async function workOf(
  { kind }: Verdict,
  about: Ended & {
    readonly environment: Readonly<Record<string, string | undefined>>;
    /** CPU time of children that had ended before these ranks started. */
    readonly cpuMsBefore: number;
  },
): Promise<TerminationCause['work']> {
  const { settings, reporter, gang, assignment, environment, cpuMsBefore } = about;
  if (kind !== 'finished' || !reporter.readsWork) return undefined;
  const saveDirectory = assignment?.saveDirectory;
  const { collectives } = reporter;
  return {
    stepsVisible: (gang?.facts?.reporting.size ?? 0) > 0 || printsSteps(engineRunOf(environment)?.stepLines),
    savedFiles: saveDirectory !== undefined && (await mayHaveFile(join(settings.checkpointMount, saveDirectory))),
    cpuMs: Math.max(0, cpuMsOfEndedChildren() - cpuMsBefore),
    ...(collectives === undefined ? {} : { collectives }),
  };
}

/** An engine that is known to print its steps. Whether other programs print any is not known. */
function printsSteps(stepLines: EngineRun['stepLines']): boolean {
  return stepLines !== undefined && stepLines !== 'plain';
}

/** True as well if the storage does not answer: that proves nothing, and the pod must end. */
async function mayHaveFile(directory: string): Promise<boolean> {
  const isOver = new AbortController();
  const late = delay(STORAGE_MS, true, { signal: isOver.signal, ref: false }).catch(() => true);
  const found = await Promise.race([hasFile(directory), late]);
  isOver.abort();
  return found;
}

/** Last lines of the failed rank, of the starter that named none, or of ranks that finished: a program may hide its error behind exit code 0. */
function linesOf({ rank, kind }: Verdict, { gang, reporter }: Ended): readonly string[] {
  if (rank !== undefined || kind === 'engineFailed') return gang?.lastLinesOf(rank) ?? [];
  return kind === 'finished' && reporter.readsWork ? (gang?.lastLinesOfFinished ?? []) : [];
}
