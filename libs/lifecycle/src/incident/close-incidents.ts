/** How did an incident end, and what did it cost? */
import { isPassedSave } from './note-passed-saves.ts';
import type { Attempt, Incident, IncidentOutcome } from '@coxswain/api-types';
import { STEPS_OF_RECOVERY } from '@coxswain/health';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import { STANDS_STILL } from '../record/incident-kinds.ts';
import { betweenMs, isAdvice, isOfRun, isOpen, withEachIncident } from './incident-record.ts';

/** Closes incidents from the record alone, so that this is part of a write that happens anyway. */
export function closeIncidents(record: JobRecord): JobRecord {
  if (!record.incidents.some(isOpen)) return record;
  return withEachIncident(record, (incident) => (isOpen(incident) ? closed(incident, record) : incident));
}

function closed(incident: Incident, record: JobRecord): Incident {
  const end = isAdvice(incident) ? endOfAdvice(incident, record) : endOfFailure(incident, record);
  if (end === undefined) return incident;
  const { outcome, at, from } = end;
  const redoneSteps = from === undefined ? undefined : Math.max(0, (incident.step ?? from) - from);
  const lostMs = lostBy(incident, end, redoneSteps);
  return {
    ...incident,
    outcome,
    closedAt: at,
    ...(redoneSteps === undefined ? {} : { redoneSteps }),
    ...(lostMs === undefined ? {} : { lostMs }),
  };
}

interface End {
  readonly outcome: IncidentOutcome;
  readonly at: string;
  /** Step from which training went on. */
  readonly from?: number;
}

function endOfFailure({ epoch, incarnation }: Incident, record: JobRecord): End | undefined {
  const last = record.attempts.at(-1);
  if (last === undefined) return undefined;
  const isLater = last.epoch > epoch || (last.epoch === epoch && (last.incarnation ?? 1) > incarnation);
  const from = last.resumedFrom?.step ?? 0;
  if (isLater && last.firstStep !== undefined) return { outcome: 'Recovered', at: last.firstStep.at, from };
  if (isLater && last.outcome === 'Succeeded') return { outcome: 'Recovered', at: endOf(last), from };
  return stopped(last, record);
}

function endOfAdvice(incident: Incident, record: JobRecord): End | undefined {
  const last = record.attempts.at(-1);
  if (last === undefined) return undefined;
  if (!isOfRun(incident, last)) return { outcome: 'RunEnded', at: last.startedAt };
  const { progress } = record;
  // The save that was passed over cost nothing more once training continued.
  if (isPassedSave(incident) && last.firstStep !== undefined) return { outcome: 'Recovered', at: last.firstStep.at };
  const isLive = liveAttempt(record) !== undefined && last.firstStep !== undefined;
  const goesOn = isLive && progress !== undefined && progress.step >= (incident.step ?? 0) + STEPS_OF_RECOVERY;
  if (STANDS_STILL.includes(incident.kind) && goesOn) return { outcome: 'Passed', at: progress.reportedAt };
  if (last.outcome === 'Succeeded') {
    return { outcome: STANDS_STILL.includes(incident.kind) ? 'Passed' : 'RunEnded', at: endOf(last) };
  }
  return stopped(last, record);
}

const STOPPED: readonly Attempt['outcome'][] = ['Suspended', 'Cancelled', 'Resized'];

function stopped(last: Attempt, { terminal }: JobRecord): End | undefined {
  if (STOPPED.includes(last.outcome) || terminal !== undefined) return { outcome: 'Stopped', at: endOf(last) };
  return undefined;
}

function endOf({ stoppingAt, endedAt, startedAt }: Attempt): string {
  return stoppingAt ?? endedAt ?? startedAt;
}

/**
 * Milliseconds that the incident cost: the time without a step, and the steps that were trained again. Slower steps are not counted here,
 * and neither are incidents that a stop ended.
 */
function lostBy(incident: Incident, { outcome, at }: End, redoneSteps: number | undefined): number | undefined {
  const { since, noticedAt, stepMs } = incident;
  if (isAdvice(incident) && !STANDS_STILL.includes(incident.kind)) return undefined;
  if (outcome === 'Stopped' || outcome === 'RunEnded') return undefined;
  const downMs = betweenMs(since ?? noticedAt, at);
  return downMs === undefined ? undefined : Math.round(downMs + (redoneSteps ?? 0) * (stepMs ?? 0));
}
