/** How is a restart drawn as one bar, phase by phase? */
import { formatRestart, type JobRecovery, nameOfRun, type RestartPhase } from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';

/** A piece of the bar; positions in percent of the longest restart. */
export interface RestartPiece {
  readonly phase: RestartPhase;
  readonly left: number;
  readonly width: number;
  readonly label: string;
}

export interface RestartBar {
  /** `2.1`: the run that followed. */
  readonly run: string;
  readonly pieces: readonly RestartPiece[];
  /** The whole of it in one sentence, with the phases that are not known. */
  readonly sentence: string;
}

/** One bar per restart, newest first, all on one scale. */
export function restartBarsOf(recoveries: readonly JobRecovery[]): readonly RestartBar[] {
  const longest = Math.max(...recoveries.map(secondsOf));
  return recoveries.toReversed().map((recovery) => ({
    run: nameOfRun(recovery.epoch, recovery.incarnation),
    pieces: longest > 0 ? piecesOf(recovery, longest) : [],
    sentence: formatRestart(recovery, timeOf),
  }));
}

/** Phases that have a piece in one of the bars, in their order. */
export function phasesOf(bars: readonly RestartBar[]): readonly RestartPhase[] {
  const drawn = bars.flatMap(({ pieces }) => pieces.map(({ phase }) => phase));
  return [...new Set(drawn)];
}

function piecesOf({ phases }: JobRecovery, longest: number): readonly RestartPiece[] {
  let left = 0;
  return phases.flatMap(({ phase, seconds }) => {
    if (seconds === null || seconds === 0) return [];
    const width = (100 * seconds) / longest;
    const piece = { phase, left, width, label: `${phase}: ${timeOf(seconds)}` };
    left += width;
    return [piece];
  });
}

/** Known so far. */
function secondsOf({ phases }: JobRecovery): number {
  return phases.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0);
}

function timeOf(seconds: number): string {
  return formatDuration(seconds * 1000);
}
