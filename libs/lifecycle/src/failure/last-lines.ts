/** Which of a rank's last lines show a person why it failed? */
import { MAX_CAUSE_LINE_CHARACTERS, MAX_CAUSE_LINES } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';

/** Stands between what the operator says of a failure and the lines that the rank wrote. */
export const LOG_HEADING = 'Last lines of its log:';

/** Lines that are shown of a log without a traceback. */
const PLAIN_LINES = 10;
const TRACEBACK = 'Traceback (most recent call last):';

/**
 * The last traceback with what follows it, else the last lines: at most {@link MAX_CAUSE_LINES}, each safe to show and cut. Of a long
 * traceback the innermost frames stay.
 */
export function tracebackOf(lines: readonly string[]): readonly string[] {
  const written = lines.flatMap((line) => safeText(line).split('\n')).filter((line) => line.trim() !== '');
  const start = written.findLastIndex((line) => line.includes(TRACEBACK));
  const shown = start < 0 ? written.slice(-PLAIN_LINES) : written.slice(start).slice(-MAX_CAUSE_LINES);
  return shown.map((line) => safeText(line.trimEnd(), MAX_CAUSE_LINE_CHARACTERS));
}
