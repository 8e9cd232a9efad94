import type { Decision } from './decision.ts';
import type { Observed } from './observed.ts';

/** What is to be done about a job, from one look at it. Level-triggered and pure; never throws. */
export function decide(observed: Observed, now: Date): Decision {
  void now;
  return { status: observed.job.status ?? { epoch: 0, restarts: { total: 0, charged: 0 } }, actions: [], events: [] };
}
