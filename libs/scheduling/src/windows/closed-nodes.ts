/** Which nodes does a window of the Fabric keep a job off? */
import type { TrainingJob } from '@coxswain/api-types';
import { type NodeWindow, windowInTheWay } from '@coxswain/fabric';
import { predictedEnd } from '../times/predicted-end.ts';

/**
 * Nodes that a window keeps the job off, if it started now, with the window. A job whose end is not known counts by the end that is assumed for it: it
 * saves and moves when the window begins.
 */
export function closedNodes(
  windows: ReadonlyMap<string, readonly NodeWindow[]>,
  job: TrainingJob,
  now: Date,
): ReadonlyMap<string, NodeWindow> {
  if (windows.size === 0) return NONE;
  const { at, latest } = predictedEnd(job, now);
  const stay = {
    namespace: job.metadata.namespace ?? '',
    nowMs: now.getTime(),
    endMs: (latest ?? at).getTime(),
  };
  const closed = new Map<string, NodeWindow>();
  for (const [node, over] of windows) {
    const window = windowInTheWay(over, stay);
    if (window !== undefined) closed.set(node, window);
  }
  return closed;
}

const NONE: ReadonlyMap<string, NodeWindow> = new Map();

/** Windows of {@link closedNodes} in a sentence for the job that waits; undefined: none. Names of windows are an administrator's. */
export function describeClosed(closed: ReadonlyMap<string, NodeWindow>): string | undefined {
  const nodes = new Map<NodeWindow['name'], { readonly window: NodeWindow; readonly count: number }>();
  for (const window of closed.values())
    nodes.set(window.name, { window, count: (nodes.get(window.name)?.count ?? 0) + 1 });
  const all = [...nodes.values()].toSorted((one, other) => one.window.fromMs - other.window.fromMs);
  if (all.length === 0) return undefined;
  const shown = all
    .slice(0, SHOWN)
    .map(
      ({ window: { name, fromMs, untilMs, namespace }, count }) =>
        `${count === 1 ? '1 node' : `${String(count)} nodes`} from ${iso(fromMs)} until ${iso(untilMs)} (${name}, ${namespace === undefined ? 'maintenance' : 'kept for a project'})`,
    );
  const more = all.length > SHOWN ? ` and ${String(all.length - SHOWN)} more windows` : '';
  return `Windows of the Fabric keep this job off ${shown.join('; ')}${more}.`;
}

const SHOWN = 3;

function iso(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
