/** Until when does a job that made room get its nodes back first? */
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';

/** Records the time once, so that the right ends although the job that got the nodes may be gone and another process may lead. */
export function recordReturn(record: JobRecord, { observed }: Facts): JobRecord {
  const right = observed.returnRight?.();
  if (right?.until === undefined) return record;
  const returnUntil = right.until.toISOString();
  const attempts = record.attempts.map((attempt) => {
    const { epoch, forClaim } = attempt;
    const isNew = epoch === right.epoch && forClaim !== undefined && forClaim.returnUntil === undefined;
    return isNew ? { ...attempt, forClaim: { ...forClaim, returnUntil } } : attempt;
  });
  return { ...record, attempts };
}
