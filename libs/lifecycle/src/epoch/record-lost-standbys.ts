/** Which standbys of an attempt can never take a place? */
import { hasRanks, MAX_STANDBYS } from '@coxswain/api-types';
import { type Facts, isTerminal, recordedSpecOf } from '../observation/facts.ts';
import { standbysOf, uncreatedIndices } from '../observation/gang.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';

/**
 * Records each standby that has ended, is being deleted, or is gone, once and with the time: it stops counting as waiting, and takes no place. One on
 * a node that does not answer may come back, and is not recorded. A pod that the cache lacks counts as gone only after a live read.
 */
export function recordLostStandbys(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released' || attempt.standbys === undefined) return record;
  const { lostStandbys = [], replacements = [] } = attempt;
  const ended = standbysOf(facts, attempt).filter((pod) => isTerminal(pod) || pod.deletionTimestamp !== undefined);
  const placed = recordedSpecOf(facts, attempt.epoch);
  const known = new Set([
    ...lostStandbys.map(({ podIndex }) => podIndex),
    ...replacements.map(({ standby }) => standby),
  ]);
  const isGone = (podIndex: number): boolean =>
    placed !== undefined && !hasRanks(placed, podIndex) && !known.has(podIndex);
  const gone = facts.isProven ? uncreatedIndices(facts, attempt).filter(isGone) : [];
  const lost = [...ended.map(({ podIndex }) => podIndex), ...gone].toSorted((one, other) => one - other);
  if (lost.length === 0) return record;
  const at = now.toISOString();
  const all = [...lostStandbys, ...lost.map((podIndex) => ({ podIndex, at }))];
  return withLastAttempt(record, { lostStandbys: all.slice(0, MAX_STANDBYS) });
}
