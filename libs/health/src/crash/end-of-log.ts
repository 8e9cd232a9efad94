/** What do the last lines of a rank that exited with 0 show about its end? */
import { hasGoneOn, isSurvived, progressIn } from './live-lines.ts';
import { errorsIn } from './traceback.ts';

/** The end of a log. */
export interface EndOfLog {
  /** The last error after which the rank made no progress; undefined: none. */
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
  return {
    error: errors[index],
    isErrorLast: index >= 0 && !hasGoneOn(lines, index),
    shownSteps: new Set(lines.flatMap((line) => progressIn(line) ?? [])).size,
  };
}
