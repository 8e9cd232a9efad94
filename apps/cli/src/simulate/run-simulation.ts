/** Runs a simulation. Only the command that simulates loads this file, because the simulation loads the rules of the operator. */
import { runsOf, simulate, type SimulationQuestion, type SimulationReport } from '@coxswain/simulation';
import { setImmediate } from 'node:timers/promises';
import { CliError } from '../cli-error.ts';
import type { Session } from '../session/session.ts';

const QUIET_MS = 2_000;

/** Simulates, and prints its progress to standard error every two seconds. Throws a {@link CliError} if the user interrupts it. */
export async function runSimulation(question: SimulationQuestion, session: Session): Promise<SimulationReport> {
  const startedMs = session.now().getTime();
  let printedMs = startedMs;
  const runs = simulate(question);
  for (let step = runs.next(); ; step = runs.next()) {
    if (step.done === true) return step.value;
    const nowMs = session.now().getTime();
    if (nowMs - printedMs >= QUIET_MS) {
      session.printError(`${step.value} of ${runsOf(question)} runs`);
      printedMs = nowMs;
    }
    // Lets Ctrl-C take effect between two runs.
    await setImmediate();
    if (session.signal.aborted) throw new CliError('interrupted', 130);
  }
}
