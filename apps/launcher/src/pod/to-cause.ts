/** What does the launcher report about the end of its ranks? */
import { join } from 'node:path';
import type { RankAssignment, TerminationCause } from '@coxswain/api-types';
import { fitCause } from '../ending/termination.ts';
import type { Verdict } from '../ending/verdict.ts';
import { engineRunOf } from '../engine/engine-run.ts';
import { hasFile } from '../engine-saves/saved-files.ts';
import type { Gang } from '../gang/gang.ts';
import { cpuMsOfEndedChildren } from '../processes/process-facts.ts';
import type { Settings } from '../program/settings.ts';
import type { Reporter } from '../reports/reporter.ts';

/** The ranks that ended; absent before the first. */
interface Ended {
  readonly settings: Settings;
  readonly reporter: Pick<Reporter, 'lastStep' | 'unreportedCheckpoints' | 'readsWork'>;
  readonly gang?: Pick<Gang, 'lastLinesOf' | 'facts'>;
  readonly assignment?: RankAssignment;
}

/** The cause as the operator reads it from the last message and from the termination message. */
export function toCause(
  verdict: Verdict,
  about: Ended & { readonly work?: TerminationCause['work'] },
): TerminationCause {
  const { settings, reporter, gang, assignment, work } = about;
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
    lastLines: hasLines(verdict) ? [...(gang?.lastLinesOf(verdict.rank) ?? [])] : [],
    ...(lastStep === undefined ? {} : { lastStep }),
    ...(verdict.checkpointFault === undefined ? {} : { checkpointFault: verdict.checkpointFault }),
    ...(verdict.verifiedCheckpoint === undefined ? {} : { verifiedCheckpoint: verdict.verifiedCheckpoint }),
    ...(work === undefined ? {} : { work }),
    unreportedCheckpoints: [...reporter.unreportedCheckpoints],
  });
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
  return {
    stepsVisible: (gang?.facts?.reporting.size ?? 0) > 0 || engineRunOf(environment)?.stepLines !== undefined,
    savedFiles: saveDirectory !== undefined && (await hasFile(join(settings.checkpointMount, saveDirectory))),
    cpuMs: Math.max(0, cpuMsOfEndedChildren() - cpuMsBefore),
  };
}

/** Whether the last lines of the failed rank, or of the starter that named none, belong to the cause. */
function hasLines({ rank, kind }: Verdict): boolean {
  return rank !== undefined || kind === 'engineFailed';
}
