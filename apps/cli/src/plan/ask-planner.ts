import { isDomainError } from '@coxswain/domain-error';
import { type AskedLayout, type PlanRequest, predict, type Prediction } from '@coxswain/planner';
import { type PlannerAnswer, type PlannerQuestion, PlannerProcess } from '@coxswain/planner-process';
import { CliError } from '../cli-error.ts';
import { contradictionText } from './plan-request.ts';
import type { CliContext } from '../session/session.ts';

/** Exit code: no layout fits, or the one that was given is not legal or does not fit. */
export const NOTHING_FITS = 4;
/** After this time the user is shown that the search still runs. */
const PATIENCE_MS = 2_000;
/** The user decides with Ctrl-C how long the search may take, and the machine's memory is theirs. */
const UNLIMITED = { timeoutMs: Infinity, heapMib: Infinity };

/** Predicts a layout in this process: without a search it takes milliseconds. Throws as {@link askPlanner} does. */
export function predictHere(request: PlanRequest, asked: AskedLayout): Prediction {
  try {
    return predict(request, asked);
  } catch (error) {
    throw toCliError(error);
  }
}

/**
 * Asks the planner in a process of its own, so that Ctrl-C works and a slow search prints a line. Throws a {@link CliError} with the
 * planner's words where it refuses.
 */
export async function askPlanner<Question extends PlannerQuestion>(
  question: Question,
  { pause, printError, signal }: Pick<CliContext, 'pause' | 'printError' | 'signal'>,
): Promise<PlannerAnswer<Question['kind']>> {
  const planner = new PlannerProcess({ limits: UNLIMITED });
  const over = new AbortController();
  void pause(PATIENCE_MS, over.signal).then(() => {
    if (!over.signal.aborted && !signal.aborted) printError('Searching layouts; this takes a few more seconds.');
  });
  try {
    return await planner.ask(question, { tenant: 'the user', signal });
  } catch (error) {
    throw toCliError(error);
  } finally {
    over.abort();
    await planner.close();
  }
}

/** Turns a rejection by the planner into a CliError that names each wrong field. Other errors are defects and stay as they are. */
function toCliError(error: unknown): unknown {
  if (!isDomainError(error)) return error;
  const contradiction = contradictionText(error);
  if (contradiction !== undefined) return new CliError(contradiction);
  const { code, message, violations } = error;
  const reasons = violations.length > 1 ? violations.map(({ pointer, detail }) => `${pointer}: ${detail}`) : [message];
  return new CliError(reasons.join('\n'), code === 'INVALID_LAYOUT' ? NOTHING_FITS : 1);
}
