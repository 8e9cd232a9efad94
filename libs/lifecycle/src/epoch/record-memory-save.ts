import { type Facts, placementOf } from '../observation/facts.ts';
import { missingIndices, podsOf } from '../observation/gang.ts';
import { launcherOf } from '../observation/incarnation.ts';
import { memorySaveOfAll } from '../observation/memory-save.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';

/** Records the save in memory that the next incarnation begins from. No launcher receives its ranks before that, so all of them begin from the same step. */
export function recordMemorySave(record: JobRecord, facts: Facts): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released' || attempt.memorySave !== undefined || attempt.runningAt !== undefined)
    return record;
  // What was observed is of the incarnation before, whose ranks other pods may have held.
  const observed = facts.attempts.find(({ epoch }) => epoch === attempt.epoch);
  if (observed?.incarnation !== attempt.incarnation) return record;
  if (placementOf(facts, attempt.epoch) === undefined || missingIndices(facts, attempt).length > 0) return record;
  const launchers = podsOf(facts, attempt.epoch).map((pod) => launcherOf(facts, pod, attempt));
  const memorySave = memorySaveOfAll(attempt, launchers);
  return memorySave === undefined ? record : withLastAttempt(record, { memorySave });
}
