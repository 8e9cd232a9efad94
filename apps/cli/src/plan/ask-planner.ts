import { isDomainError } from '@coxswain/domain-error';
import { type AskedLayout, type PlanRequest, predict, type Prediction } from '@coxswain/planner';
import { type PlannerAnswer, type PlannerQuestion, PlannerProcess } from '@coxswain/planner-process';
import { CliError } from '../cli-error.ts';
import { contradictionText } from './plan-request.ts';
import type { CliContext } from '../session/session.ts';

/** Exit code: no layout fits, or the one that was given is not legal or does not fit. */
export const NOTHING_FITS = 4;
/** After so long a person wants to know that something happens. */
const PATIENCE_MS = 2_000;
/** Whoever asks at a terminal decides how long the search may take, and has the machine's memory. */
const UNLIMITED = { timeoutMs: Infinity, heapMib: Infinity };

/** What a layout will cost. Nothing is searched, so it takes milliseconds and no process. Throws as {@link askPlanner} does. */
export function predictHere(request: PlanRequest, asked: AskedLayout): Prediction {
  try {
    return predict(request, asked);
  } catch (error) {
    throw inUsersWords(error);
  }
}

/**
 * What the planner says, searched in a process so that Ctrl-C works and a line tells when it takes long. Throws a {@link CliError} with the
 * planner's words where it refuses.
 */
export async function askPlanner<Question extends PlannerQuestion>(
  question: Question,
  { pause, printError, signal }: Pick<CliContext, 'pause' | 'printError' | 'signal'>,
): Promise<PlannerAnswer<Question['kind']>> {
  const planner = new PlannerProcess({ limits: UNLIMITED });
  const over = new AbortController();
  void pause(PATIENCE_MS, over.signal).then(() => {
    if (!over.signal.aborted && !signal.aborted) printError('Searching layouts; this takes a few seconds more.');
  });
  try {
    return await planner.ask(question, { tenant: 'the user', signal });
  } catch (error) {
    throw inUsersWords(error);
  } finally {
    over.abort();
    await planner.close();
  }
}

/** What the planner refuses is told with each field that is wrong; everything else is a defect and stays what it is. */
function inUsersWords(error: unknown): unknown {
  if (!isDomainError(error)) return error;
  const contradiction = contradictionText(error);
  if (contradiction !== undefined) return new CliError(contradiction);
  const { code, message, violations } = error;
  const reasons = violations.length > 1 ? violations.map(({ pointer, detail }) => `${pointer}: ${detail}`) : [message];
  return new CliError(reasons.join('\n'), code === 'INVALID_LAYOUT' ? NOTHING_FITS : 1);
}
