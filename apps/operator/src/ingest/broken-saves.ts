/** Verdicts about saves that launchers found broken. */
import type { BrokenSave } from '@coxswain/api-types';
import type { Verdict } from '@coxswain/health';
import type { Watched } from './watched-run.ts';

/** Of one run. An engine whose saves are all broken is known after some. */
const MAX_BROKEN_OF_RUN = 6;

/** The saves that were not reported before. Launchers repeat them in each heartbeat. */
export function newBrokenSaves(
  { brokenSaves }: Pick<Watched, 'brokenSaves'>,
  reported: readonly BrokenSave[],
): readonly BrokenSave[] {
  return reported.filter(({ step }) => {
    if (brokenSaves.has(step) || brokenSaves.size >= MAX_BROKEN_OF_RUN) return false;
    brokenSaves.add(step);
    return true;
  });
}

/** An incident that ends nothing: the gang trains on, and a later save may be whole. */
export function brokenSaveVerdict({ step, directory, why }: BrokenSave, atMs: number): Verdict {
  return {
    kind: 'brokenSave',
    atMs,
    ranks: [],
    nodes: [],
    message: `The save of step ${step} is broken, and no checkpoint was made of it: ${why.replace(/\.$/, '')}. A restart resumes from the checkpoint before it.`,
    evidence: { step, directory },
    confidence: 1,
    action: 'advise',
    falseAlarmsPerDay: null,
  };
}
