/** Which incidents have an end that is held? */
import { type Attempt, MAX_INCIDENT_EVIDENCE } from '@coxswain/api-types';
import { judgeVerdicts } from '../failure/verdicts.ts';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import { STANDS_STILL } from '../record/incident-kinds.ts';
import { heldEvidence, isOfRun, isOpen, whyHeld, withEachIncident } from './incident-record.ts';

/** Adds the reason to the open incident of each held end, once. */
export function recordHeldEnds(record: JobRecord, facts: Facts): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released') return record;
  return judgeVerdicts(facts, attempt).held.reduce(
    (current, { verdict, why }) => withHeld(current, { attempt, why, isSlow: verdict.cause === 'slow' }),
    record,
  );
}

function withHeld(
  record: JobRecord,
  { attempt, why, isSlow }: { readonly attempt: Attempt; readonly why: string; readonly isSlow: boolean },
): JobRecord {
  return withEachIncident(record, (incident) => {
    const isMeant = isSlow ? incident.kind === 'SlowRank' : STANDS_STILL.includes(incident.kind);
    if (!isMeant || !isOpen(incident) || !isOfRun(incident, attempt) || whyHeld(incident) !== undefined)
      return incident;
    const evidence = [...heldEvidence(why), ...(incident.evidence ?? [])];
    return { ...incident, evidence: evidence.slice(0, MAX_INCIDENT_EVIDENCE) };
  });
}
