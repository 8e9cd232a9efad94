/** How long did the newest restart of a job take, according to its recorded attempts? */
import type { Attempt, JobRecovery } from '@coxswain/api-types';
import { recordedHistory } from './recorded-history.ts';
import { recoveriesOf } from './recoveries.ts';

/** The newest restart after a failure, also one that has not come to its first step; undefined: no failure was followed by another run. */
export function newestRestart(attempts: readonly Attempt[]): JobRecovery | undefined {
  const history = recordedHistory({
    createdAt: undefined,
    finishedAt: undefined,
    attempts: attempts.slice(-2),
    progress: undefined,
    stepMsByEpoch: new Map(),
    savedRuns: new Set(),
    stepCosts: [],
    now: new Date(0),
  });
  return recoveriesOf(history).at(-1);
}

/** The restart that has come to its first step between two observations of a job; undefined: none has. */
export function finishedRestart(before: readonly Attempt[], after: readonly Attempt[]): JobRecovery | undefined {
  const [earlier, later] = [before.at(-1), after.at(-1)];
  // Most changes of a job are of its progress: they cost no more than this.
  if (later?.firstStep === undefined || earlier === undefined) return undefined;
  const isSameRun = earlier.epoch === later.epoch && (earlier.incarnation ?? 1) === (later.incarnation ?? 1);
  if (isSameRun && earlier.firstStep !== undefined) return undefined;
  const restart = newestRestart(after);
  const isOfNewest = restart?.epoch === later.epoch && restart.incarnation === (later.incarnation ?? 1);
  return isOfNewest && restart.total !== null ? restart : undefined;
}
