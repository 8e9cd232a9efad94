import type { Job } from '@coxswain/api-types';
import type { ReactNode } from 'react';

const TONE: Readonly<Record<Job['state'], 'good' | 'busy' | 'held' | 'bad' | 'idle'>> = {
  Submitting: 'idle',
  Queued: 'idle',
  Starting: 'busy',
  Running: 'busy',
  Restarting: 'held',
  Suspending: 'held',
  Suspended: 'held',
  Stopping: 'held',
  Complete: 'good',
  Failed: 'bad',
  Refused: 'bad',
  Cancelled: 'idle',
  Deleting: 'idle',
  Deleted: 'idle',
};

export function StatePill({ state }: { readonly state: Job['state'] }): ReactNode {
  // A newer server can have states that this release does not know.
  const tone = Object.hasOwn(TONE, state) ? TONE[state] : 'idle';
  return <span className={`pill ${tone}`}>{state}</span>;
}
