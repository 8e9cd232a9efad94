import type { Attempt } from '@coxswain/api-types';
import { nameOfRun } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { safeText } from '@coxswain/safe-text';

/*
 * What is left of a log when its pod is gone? An attempt records how it failed, with the last lines of the rank that failed first; so does each run of its
 * ranks in the same pods. That is at most some 16 kB, kept with the job.
 */

/** Longest text of one run. */
const MAX_RECORDED_CHARACTERS = 8_192;

/** What was recorded in place of the log of a rank, in words that say so. `why`: why no kept log is shown. NOT_FOUND, with since when, where nothing was. */
export function recordedEnd(attempt: Attempt, rank: number, why: string): string {
  const which = `the pod of rank ${rank} of attempt ${attempt.epoch}`;
  if (attempt.endedAt === undefined) {
    throw new DomainError(
      'NOT_FOUND',
      `${which} is not there; the attempt has not ended (${attempt.stage}): try again in a while`,
    );
  }
  const how = [attempt.outcome, attempt.reason].filter((word) => word !== undefined).join(', ');
  const gone = `${which} is gone, and its log with it: the attempt ended at ${attempt.endedAt}${how === '' ? '' : ` (${how})`}, and pods are removed then. A kept log is not shown: ${why}`;
  const runs = runsOf(attempt);
  if (runs.length === 0) {
    const instead = 'it recorded no last lines, as none of its ranks failed';
    throw new DomainError('NOT_FOUND', `${gone}; ${instead}`);
  }
  const texts = runs.map(
    ({ name, message }) => `# Of run ${name}:\n${safeText(message, MAX_RECORDED_CHARACTERS).trimEnd()}\n`,
  );
  return `# ${gone.charAt(0).toUpperCase()}${gone.slice(1)}. What it recorded of its end:\n${texts.join('')}`;
}

/** Runs of the ranks that said how they failed, oldest first. */
function runsOf(attempt: Attempt): readonly { readonly name: string; readonly message: string }[] {
  const { epoch, incarnation, incarnations = [], message } = attempt;
  return [...incarnations, { incarnation, message }].flatMap((run) =>
    run.message === undefined ? [] : [{ name: nameOfRun(epoch, run.incarnation), message: run.message }],
  );
}
