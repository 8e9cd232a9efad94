import { meaningOf } from '@coxswain/api-client';
import {
  INCIDENT_ACTIONS,
  INCIDENT_OUTCOMES,
  incidentSubject,
  type JobIncident,
  operationWords,
} from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';
import type { ReactNode } from 'react';
import { FactList } from './fact-list.tsx';

/** What went wrong, newest first: seen, done, came of, and what shows it. */
export function Incidents({ incidents }: { readonly incidents: readonly JobIncident[] }): ReactNode {
  if (incidents.length === 0) return <p className="empty">No incidents so far.</p>;
  return (
    <ol className="incidents" data-testid="incidents">
      {incidents.map((incident) => (
        <li key={incident.id} id={`incident-${incident.id}`}>
          <h3>
            {incidentSubject(incident)} <time dateTime={incident.noticedAt}>{whenOf(incident.noticedAt)}</time>
          </h3>
          <p>{incident.message}</p>
          <p>
            {meaningOf(INCIDENT_ACTIONS, incident.action)} <CameOf incident={incident} />
          </p>
          <Evidence incident={incident} />
        </li>
      ))}
    </ol>
  );
}

function CameOf({ incident: { outcome, lostMs, redoneSteps = 0 } }: { readonly incident: JobIncident }): ReactNode {
  if (outcome === undefined) return <strong className="held-ink">It is not over.</strong>;
  const again = redoneSteps === 0 ? '' : `, with ${redoneSteps} steps trained again`;
  return (
    <strong>
      {meaningOf(INCIDENT_OUTCOMES, outcome)}
      {lostMs !== undefined && ` ${formatDuration(lostMs)} were lost${again}.`}
    </strong>
  );
}

function Evidence({ incident }: { readonly incident: JobIncident }): ReactNode {
  const { evidence = [], operations = [] } = incident;
  if (evidence.length === 0 && operations.length === 0) return null;
  return (
    <details>
      <summary>What shows it</summary>
      {operations.length > 0 && (
        <ul>
          {operations.map((one) => (
            <li key={one.rank}>{`${operationWords(one)}, for ${formatDuration(one.forMs)}.`}</li>
          ))}
        </ul>
      )}
      <FactList className="evidence" facts={evidence.map(({ name, value }) => [name, value] as const)} />
    </details>
  );
}

function whenOf(at: string): string {
  return new Date(at).toLocaleString();
}
