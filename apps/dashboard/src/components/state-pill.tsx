import { type Job, toneOfState } from '@coxswain/api-types';
import type { ReactNode } from 'react';

export function StatePill({ state }: { readonly state: Job['state'] }): ReactNode {
  const tone = toneOfState(state) ?? 'waiting';
  return <span className={`pill ${tone === 'waiting' || tone === 'over' ? 'idle' : tone}`}>{state}</span>;
}
