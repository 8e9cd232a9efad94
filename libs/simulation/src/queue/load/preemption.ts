/** What it costs in the simulation that a job makes room. */
import type { QueueJob } from './queue-job.ts';

const MINUTE_MS = 60_000;
/** From the request to stop until the pods are gone, with the save; nothing is trained in that time. */
export const LEAVE_MS = MINUTE_MS;
/** From the next placement to the first step. */
export const RESTART_MS = 3 * MINUTE_MS;
/** How often a job saves by itself. */
export const SAVE_EVERY_MS = 30 * MINUTE_MS;

/** Training that is lost if the job stops after so much training since its start. */
export function lostMs({ savesWhenAsked = true }: QueueJob, trainedMs: number): number {
  return savesWhenAsked ? 0 : Math.max(0, trainedMs) % SAVE_EVERY_MS;
}

/** Nodes that a job gets when others have left them. */
export interface QueueClaim {
  readonly jobUid: string;
  readonly nodes: readonly number[];
  /** UIDs of the jobs that leave. */
  readonly victims: readonly string[];
  readonly expiresMs: number;
}
