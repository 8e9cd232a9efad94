/** Which incidents does status hold, and how are they written down? */
import { type Attempt, type Incident, type IncidentEvidence, MAX_INCIDENTS_IN_STATUS } from '@coxswain/api-types';
import { safeText } from '@coxswain/safe-text';
import type { JobRecord } from '../record/job-record.ts';

/** Kinds in which the gang as a whole stands still: of a run, all of them are one trouble, whoever is named for it. */
export const STANDS_STILL: readonly Incident['kind'][] = ['Hang', 'NetworkHang', 'Desync'];

/** It was told of, and nothing was done about it yet. */
export function isAdvice({ action }: Incident): boolean {
  return action === 'Advised' || action === 'None';
}

export function isOpen({ outcome }: Incident): boolean {
  return outcome === undefined;
}

export function isOfRun(
  incident: Pick<Incident, 'epoch' | 'incarnation'>,
  { epoch, incarnation = 1 }: Pick<Attempt, 'epoch' | 'incarnation'>,
): boolean {
  return incident.epoch === epoch && incident.incarnation === incarnation;
}

/** The record with one more; the oldest makes room. */
export function withIncident(record: JobRecord, incident: Incident): JobRecord {
  return { ...record, incidents: [...record.incidents, incident].slice(-MAX_INCIDENTS_IN_STATUS) };
}

/** The record with those that `change` answers another one for. The same record where it changes none. */
export function withEachIncident(record: JobRecord, change: (incident: Incident) => Incident): JobRecord {
  const incidents = record.incidents.map(change);
  return incidents.every((incident, index) => incident === record.incidents[index]) ? record : { ...record, incidents };
}

/** Text that ranks or detectors wrote, cut to what the resource holds. */
export function evidenceOf(values: Readonly<Record<string, number | string | undefined>>): readonly IncidentEvidence[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [{ name: safeText(name, 64), value: safeText(String(value), 256) }],
  );
}

/** Milliseconds from one time to another; undefined where one is missing or cannot be read, never negative. */
export function betweenMs(from: string | undefined, to: string | undefined): number | undefined {
  const ms = Date.parse(to ?? '') - Date.parse(from ?? '');
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
