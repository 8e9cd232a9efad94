import { type Attempt, type Fingerprint, MAX_PREFLIGHT_NOTES } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';

/** Length of a value in a note about a difference. */
const MAX_VALUE = 80;

/** Records the result of preflight once, and the changes since the previous attempt. */
export function recordPreflight(record: JobRecord, { observed: { preflight } }: Facts): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt === undefined || preflight?.epoch !== attempt.epoch || attempt.preflight !== undefined) return record;
  const { outcome, tookMs, notes, fingerprint } = preflight;
  const before = record.attempts.findLast((one) => one.fingerprint !== undefined && one.epoch < attempt.epoch);
  const all = [...driftSince(before, fingerprint), ...notes].slice(0, MAX_PREFLIGHT_NOTES);
  return withLastAttempt(record, { preflight: { outcome, tookMs, notes: all }, fingerprint });
}

function driftSince(before: Attempt | undefined, now: Fingerprint): readonly string[] {
  if (before?.fingerprint === undefined) return [];
  const { fingerprint: then, epoch } = before;
  const fields = Object.keys(now) as (keyof Fingerprint)[];
  return fields
    .filter((field) => then[field] !== undefined && then[field] !== now[field])
    .map((field) => `${field} is ${short(now[field])}, and was ${short(then[field])} in attempt ${epoch}`);
}

function short(value: string | undefined): string {
  return safeText(value ?? '', MAX_VALUE);
}
