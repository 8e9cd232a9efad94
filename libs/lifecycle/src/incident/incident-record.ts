/** Which incidents does status hold, and how are they changed? */
import { type Attempt, type Incident, type IncidentEvidence, MAX_INCIDENTS_IN_STATUS } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import type { JobRecord } from '../record/job-record.ts';

/** Kinds in which the whole gang is stalled. Within a run they are one incident, whichever rank is blamed. */
export const STANDS_STILL: readonly Incident['kind'][] = ['Hang', 'NetworkHang', 'Desync', 'NotTraining'];

/**
 * Incidents in which all ranks still run and can save, so that a gang is asked to save early. A stalled gang cannot save. Incidents caused by the
 * program or its data are left out: no node will fail for them, and a loss that is not a number is not worth saving.
 */
export const SAVE_KINDS: readonly Incident['kind'][] = ['SlowRank', 'SlowLink'];

/** Whether the incident was reported and nothing was done about it yet. */
export function isAdvice({ action }: Incident): boolean {
  return action === 'Advised' || action === 'None';
}

/** Whether the incident has no outcome yet. */
export function isOpen({ outcome }: Incident): boolean {
  return outcome === undefined;
}

/** Whether the incident belongs to that run of the attempt. */
export function isOfRun(
  incident: Pick<Incident, 'epoch' | 'incarnation'>,
  { epoch, incarnation = 1 }: Pick<Attempt, 'epoch' | 'incarnation'>,
): boolean {
  return incident.epoch === epoch && incident.incarnation === incarnation;
}

/** The record with the incident added; beyond the limit the oldest is dropped. */
export function withIncident(record: JobRecord, incident: Incident): JobRecord {
  return { ...record, incidents: [...record.incidents, incident].slice(-MAX_INCIDENTS_IN_STATUS) };
}

/** The record with each incident replaced by the result of `change`; the same object if nothing changes. */
export function withEachIncident(record: JobRecord, change: (incident: Incident) => Incident): JobRecord {
  const incidents = record.incidents.map(change);
  return incidents.every((incident, index) => incident === record.incidents[index]) ? record : { ...record, incidents };
}

/** Evidence from text of ranks or detectors, cut to the resource's limits. */
export function evidenceOf(values: Readonly<Record<string, number | string | undefined>>): readonly IncidentEvidence[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [{ name: safeText(name, 64), value: safeText(String(value), 256) }],
  );
}

const HELD = 'held';

/** Evidence that the end of the attempt is held, and why. */
export function heldEvidence(why: string): readonly IncidentEvidence[] {
  return evidenceOf({ [HELD]: why });
}

/** Why nothing is done about the incident, if its end was held; undefined: it was not. */
export function whyHeld({ evidence }: Pick<Incident, 'evidence'>): string | undefined {
  return evidence?.find(({ name }) => name === HELD)?.value;
}

/** Milliseconds between two times, never negative; undefined if one is missing or unreadable. */
export function betweenMs(from: string | undefined, to: string | undefined): number | undefined {
  const ms = Date.parse(to ?? '') - Date.parse(from ?? '');
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
