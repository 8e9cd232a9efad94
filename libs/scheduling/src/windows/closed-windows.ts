/** How long would a job stay on a node, and how does it read which windows of the Fabric keep it off nodes? */
import type { TrainingJob } from '@coxswain/api-types';
import type { NodeWindow, windowInTheWay } from '@coxswain/fabric';
import { predictedEnd } from '../times/predicted-end.ts';

/** A window that keeps a job off its nodes. */
export interface ClosedWindow {
  readonly window: NodeWindow;
  /** How many it lies over. */
  readonly nodes: number;
}

/**
 * The job's stay if it started now. A job whose end is not known counts by the end that is assumed for it: it saves and moves when a window begins. One
 * without checkpoints cannot move, so it may stay for any time.
 */
export function stayOf(job: TrainingJob, now: Date): Parameters<typeof windowInTheWay>[1] {
  const { at, latest } = predictedEnd(job, now);
  const end = latest ?? (job.spec.checkpoint === undefined ? undefined : at);
  return { namespace: job.metadata.namespace ?? '', nowMs: now.getTime(), endMs: end?.getTime() ?? Infinity };
}

/** The windows in a sentence for the job that waits; undefined: there are none. Projects are not named. */
export function describeClosed(closed: readonly ClosedWindow[]): string | undefined {
  if (closed.length === 0) return undefined;
  const shown = closed
    .slice(0, SHOWN)
    .map(
      ({ window: { name, fromMs, untilMs, namespace }, nodes }) =>
        `${nodes === 1 ? '1 node' : `${String(nodes)} nodes`} from ${iso(fromMs)} until ${iso(untilMs)} (${namespace === undefined ? `${name}, maintenance` : 'kept for a project'})`,
    );
  const more = closed.length > SHOWN ? ` and ${String(closed.length - SHOWN)} more windows` : '';
  return `Windows of the Fabric keep this job off ${shown.join('; ')}${more}.`;
}

const SHOWN = 3;

function iso(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
