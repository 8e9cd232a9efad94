import type { JobEvent } from '@coxswain/api-types';
import type { ReactNode } from 'react';
import { Time } from './time.tsx';

export function JobEvents({ events }: { readonly events: readonly JobEvent[] }): ReactNode {
  if (events.length === 0) return <p className="empty">No events yet.</p>;
  return (
    <ol className="events" tabIndex={0} aria-label="Events, newest first">
      {[...events].reverse().map((event) => (
        <li key={event.id} className={event.severity}>
          <Time at={event.at} />
          <strong>{event.type}</strong>
          <span className="message" title={event.message}>
            {event.message}
          </span>
        </li>
      ))}
    </ol>
  );
}
