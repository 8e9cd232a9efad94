/** How does the command line, or a page, show the state of a job at a glance? */
import type { Job } from './rest.ts';

/** What a state says of its job, without a word. */
export type StateTone = 'waiting' | 'busy' | 'held' | 'good' | 'bad' | 'over';

const TONES: Readonly<Record<Job['state'], StateTone>> = {
  Submitting: 'waiting',
  Queued: 'waiting',
  Starting: 'busy',
  Running: 'busy',
  Restarting: 'held',
  Suspending: 'held',
  Suspended: 'held',
  Stopping: 'held',
  Complete: 'good',
  Failed: 'bad',
  Refused: 'bad',
  Cancelled: 'over',
  Deleting: 'over',
  Deleted: 'over',
};

/** The tone of the state. Undefined: a newer server has states that this release does not know. */
export function toneOfState(state: Job['state']): StateTone | undefined {
  return Object.hasOwn(TONES, state) ? TONES[state] : undefined;
}
