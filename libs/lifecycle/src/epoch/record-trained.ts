import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';

/** Records what the ranks really train. The recorded result stays until a new report, because a new leader may not have one yet. */
export function recordTrained(record: JobRecord, { observed: { trained } }: Facts): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt === undefined || trained?.epoch !== attempt.epoch) return record;
  const { incarnation, seen, differences } = trained;
  if (incarnation !== (attempt.incarnation ?? 1)) return record;
  const known = attempt.trained;
  const isKnown = known?.incarnation === incarnation && known.seen === seen && same(known.differences, differences);
  if (isKnown) return record;
  const news = { incarnation, ...(seen === undefined ? {} : { seen }), differences: [...differences] };
  return withLastAttempt(record, { trained: news });
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}
