import type { StreamedChange } from '@coxswain/api-client';
import type { Job, JobEvent } from '@coxswain/api-types';
import { withPoints, type Curve } from './curve.ts';

/** What the page of a job has received so far. */
export interface ReceivedJob {
  readonly job: Job | undefined;
  /** Oldest first, each once. */
  readonly events: readonly JobEvent[];
  readonly curve: Curve;
}

export const NOTHING_RECEIVED: ReceivedJob = { job: undefined, events: [], curve: new Map() };

/** What is known after these changes; an older version of the job, e.g. a late answer, changes nothing. */
export function withChanges(received: ReceivedJob, changes: readonly StreamedChange[]): ReceivedJob {
  const jobs = changes.flatMap((change) => (change.kind === 'job' ? [change.job] : []));
  const events = changes.flatMap((change) => (change.kind === 'event' ? [change.event] : []));
  const points = changes.flatMap((change) => (change.kind === 'step' ? [change.point] : []));
  return {
    job: jobs.reduce(newer, received.job),
    events: events.length === 0 ? received.events : merged(received.events, events),
    curve: withPoints(received.curve, points),
  };
}

function newer(known: Job | undefined, received: Job): Job {
  return known === undefined || received.version >= known.version ? received : known;
}

function merged(known: readonly JobEvent[], received: readonly JobEvent[]): readonly JobEvent[] {
  const byId = new Map([...known, ...received].map((event) => [event.id, event]));
  return [...byId.values()].sort((a, b) => a.id - b.id);
}
