/** What do the last lines of a rank that exited with 0 show about its end? */
import { hasGoneOn, isDiverged, isSurvived, progressIn } from './live-lines.ts';
import { errorsIn } from './traceback.ts';

/** The end of a log. */
export interface EndOfLog {
  /** The last error after which the rank made no progress, or a loss that is not a number; undefined: none. */
  readonly error: string | undefined;
  /** Whether the error is the end of the log: the program wrote nothing ordinary after it. */
  readonly isErrorLast: boolean;
  /** Different steps or losses that the lines show. */
  readonly shownSteps: number;
}

/** Reads the end of a log. A program that catches its exceptions, or a pipe such as `| tee`, hides errors behind exit code 0. */
export function endOfLog(lines: readonly string[]): EndOfLog {
  const errors = errorsIn(lines);
  const index = errors.findLastIndex((error, at) => error !== undefined && !isSurvived(lines, at, true));
  const lastLoss = lines.findLast((line) => isDiverged(line) || progressIn(line) !== undefined);
  const isWorthless = index < 0 && lastLoss !== undefined && isDiverged(lastLoss);
  return {
    error: isWorthless ? `the loss is not a number: ${lastLoss.trim()}` : errors[index],
    isErrorLast: isWorthless || (index >= 0 && !hasGoneOn(lines, index)),
    shownSteps: new Set(lines.flatMap((line) => progressIn(line) ?? [])).size,
  };
}
