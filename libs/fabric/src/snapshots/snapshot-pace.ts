/** How often may a fabric be recorded, however often it changes? */
import { HOUR_MS, MINUTE_MS } from '@coxswain/units';

/** What was recorded of a cluster before. */
export interface RecordedBefore {
  readonly msSinceLast: number;
  /** That the last one added to what is kept: chunks that were there already cost nothing. */
  readonly lastBytes: number;
  readonly inLastHour: number;
  readonly inLastDay: number;
}

const LEAST_MS = MINUTE_MS;
/** A tenth of what 10,000 nodes are when everything that is said of them changes. */
export const MOST_BYTES_PER_HOUR = 262_144;
/** Most snapshots in an hour, however small they are. */
export const MOST_IN_HOUR = 12;
/** Records that are kept are as many as so many days of labels that never rest have. */
export const MOST_IN_DAY = 48;

/** Whether another snapshot may be written: each waits for the bytes of the one before, so that on average no hour has more of them than it may. */
export function mayRecord({ msSinceLast, lastBytes, inLastHour, inLastDay }: RecordedBefore): boolean {
  const paidForMs = Math.max(LEAST_MS, (lastBytes / MOST_BYTES_PER_HOUR) * HOUR_MS);
  return msSinceLast >= paidForMs && inLastHour < MOST_IN_HOUR && inLastDay < MOST_IN_DAY;
}
