/** Is the job over, and in which final state? */
import type { Facts } from '../observation/facts.ts';
import type { JobRecord, Terminal } from '../record/job-record.ts';
import { describeFinished } from './finished-work.ts';
import { terminalOfMaxRuntime } from './record-max-runtime.ts';

/** The final state of a job whose last attempt has ended; undefined: the job goes on. */
export function terminalOf(record: JobRecord, facts: Facts, now: Date): Terminal | undefined {
  const last = record.attempts.at(-1);
  if (last?.outcome === 'Succeeded') {
    return { type: 'Complete', reason: 'AllRanksSucceeded', message: describeFinished(record, facts) };
  }
  if (facts.cancel) return { type: 'Failed', reason: 'Cancelled', message: 'Cancelled as spec.cancel asks.' };
  if (last?.outcome !== 'Failed' || last.answer !== 'GiveUp') return terminalOfMaxRuntime(record, facts, now);
  const message = last.message ?? 'The reason was not recorded.';
  if (last.reason === 'DoNotRestart' || last.reason === 'NothingTrained') {
    return { type: 'Failed', reason: last.reason, message };
  }
  const { givenUp = 'RestartsExhausted', budget, says = '' } = last.judgement ?? {};
  if (givenUp !== 'RestartsExhausted' || budget !== undefined) {
    return { type: 'Failed', reason: givenUp, message: `Failed in attempt ${last.epoch}: ${says} ${message}` };
  }
  return {
    type: 'Failed',
    reason: 'RestartsExhausted',
    message: `Failed in attempt ${last.epoch} after ${record.restarts.charged} of ${facts.restartPolicy.maxRestarts} restarts. ${message}`,
  };
}
