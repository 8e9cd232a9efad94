/** Which of its last lines did a rank survive? Progress after a line of an error shows that the error did not end the rank. */
import { isProgressMark } from '@coxswain/api-types';

/** `step 12`, `iteration 501/ 10000`, `'epoch': 0.24`. */
const COUNTED =
  /\b(?:global[ _]?step|step|iter|iteration|epoch|batch|update)s?\b['"]?[ \t]{0,4}[:=#[(]{0,2}[ \t]{0,4}(\d{1,12}(?:\.\d{1,6})?)/i;
/** `loss 2.31`, `loss: 2.1`. */
const LOSS = /\bloss\b['"]?[ \t]{0,4}[:=]{0,1}[ \t]{0,4}\d/i;
/** `loss nan`, `'loss': inf`: a step that was made in vain. */
const DIVERGED = /\bloss\b['"]?[ \t]{0,4}[:=]{0,1}[ \t]{0,4}['"]?[-+]?(?:nan|inf)\b/i;
/** Lines that name a step or a loss and report no progress: errors, and what a program does before it trains. */
const NO_PROGRESS =
  /error|exception|fail|traceback|\bnan\b|\binf\b|\bresum|\brestor|\bload(?:ing|ed)?\b|\bdownload|\bstart(?:ing|ed)?\b|\bbegin|\bretry|\bwarm/i;

const MAX_LINE_CHARACTERS = 512;

/** What a line of progress reports, such as the step; undefined: the line shows no progress. */
export function progressIn(line: string): string | undefined {
  const text = line.slice(0, MAX_LINE_CHARACTERS);
  if (NO_PROGRESS.test(text)) return undefined;
  const [, count] = COUNTED.exec(text) ?? [];
  return count ?? (LOSS.test(text) ? text : undefined);
}

/** Whether the line shows a loss that is not a finite number. */
export function isDiverged(line: string): boolean {
  return DIVERGED.test(line.slice(0, MAX_LINE_CHARACTERS));
}

/**
 * Whether the rank trained on after that line. A traceback needs progress twice: ranks of one pod may share a log, and a peer of the rank that raised it may
 * still end the same step.
 */
export function isSurvived(lines: readonly string[], index: number, isTraceback: boolean): boolean {
  const after = lines.slice(index + 1);
  if (after.some(isProgressMark)) return true;
  const progress = new Set(after.flatMap((line) => progressIn(line) ?? []));
  return progress.size >= (isTraceback ? 2 : 1);
}

/** Lines that belong to the end of a process: of errors, tracebacks, stacks of C++ and reports of a crash. */
const OF_AN_END =
  /^\s|^$|error|exception|traceback|fatal|abort|core dumped|frame #|cuda|nccl|terminate|segmentation|extension modules|thread 0x|warn|^\[|^Last error/i;

/** Whether the program wrote ordinary output after that line, so that the line does not belong to its end. */
export function hasGoneOn(lines: readonly string[], index: number): boolean {
  return lines.slice(index + 1).some((line) => !OF_AN_END.test(line.slice(0, MAX_LINE_CHARACTERS)));
}
