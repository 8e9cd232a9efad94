import { isDomainError } from '@coxswain/domain-error';
import { type PlannerAnswer, type PlannerQuestion, PlannerThread } from '@coxswain/planner-thread';
import { CliError } from './cli-error.ts';
import type { CliContext } from './session.ts';

/** Exit code: no layout fits, or the one that was given is not legal or does not fit. */
export const NOTHING_FITS = 4;
/** After so long a person wants to know that something happens. */
const PATIENCE_MS = 2_000;
/** Whoever asks at a terminal decides how long the search may take, and has the machine's memory. */
const UNLIMITED = { timeoutMs: Infinity, heapMib: Infinity };

/**
 * What the planner says, computed in a thread so that Ctrl-C works and a line tells when it takes long. Throws a {@link CliError} with the
 * planner's words where it refuses.
 */
export async function askPlanner<Question extends PlannerQuestion>(
  question: Question,
  { pause, printError, signal }: Pick<CliContext, 'pause' | 'printError' | 'signal'>,
): Promise<PlannerAnswer<Question['kind']>> {
  const planner = new PlannerThread({ limits: UNLIMITED });
  const over = new AbortController();
  void pause(PATIENCE_MS, over.signal).then(() => {
    if (!over.signal.aborted && !signal.aborted) printError('Searching layouts; this takes a few seconds more.');
  });
  try {
    return await planner.ask(question, { tenant: 'the user', signal });
  } catch (error) {
    if (!isDomainError(error)) throw error;
    const { code, message, violations } = error;
    const reasons =
      violations.length > 1 ? violations.map(({ pointer, detail }) => `${pointer}: ${detail}`) : [message];
    throw new CliError(reasons.join('\n'), code === 'INVALID_LAYOUT' ? NOTHING_FITS : 1);
  } finally {
    over.abort();
    await planner.close();
  }
}
