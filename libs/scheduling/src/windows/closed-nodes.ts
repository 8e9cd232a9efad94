/** Which nodes does a window of the Fabric keep a job off? */
import type { TrainingJob } from '@coxswain/api-types';
import { type NodeWindow, windowInTheWay } from '@coxswain/fabric';
import { predictedEnd } from '../times/predicted-end.ts';

/** Nodes under the same windows. */
interface NodesUnderWindows {
  readonly windows: readonly NodeWindow[];
  readonly nodes: readonly string[];
}

/** The view returns the same map until nodes or windows change. */
const grouped = new WeakMap<ReadonlyMap<string, readonly NodeWindow[]>, readonly NodesUnderWindows[]>();

/** A window lies over a thousand nodes, and thousands of jobs wait: each job is compared once with each combination of windows. */
function nodesUnderWindows(windows: ReadonlyMap<string, readonly NodeWindow[]>): readonly NodesUnderWindows[] {
  const known = grouped.get(windows);
  if (known !== undefined) return known;
  const byWindows = Map.groupBy(windows, ([, over]) => JSON.stringify(over));
  const groups = [...byWindows.values()].flatMap((nodes) => {
    const [first] = nodes;
    return first === undefined ? [] : [{ windows: first[1], nodes: nodes.map(([name]) => name) }];
  });
  grouped.set(windows, groups);
  return groups;
}

/** Names of the windows of {@link closedNodes}, each once. */
export function closingWindows(
  windows: ReadonlyMap<string, readonly NodeWindow[]>,
  job: TrainingJob,
  now: Date,
): ReadonlySet<string> {
  return new Set(closedGroups(windows, job, now).map(({ window }) => window.name));
}

function closedGroups(
  windows: ReadonlyMap<string, readonly NodeWindow[]>,
  job: TrainingJob,
  now: Date,
): readonly { readonly window: NodeWindow; readonly nodes: readonly string[] }[] {
  if (windows.size === 0) return [];
  const { at, latest } = predictedEnd(job, now);
  const stay = {
    namespace: job.metadata.namespace ?? '',
    nowMs: now.getTime(),
    endMs: (latest ?? at).getTime(),
  };
  return nodesUnderWindows(windows).flatMap((group) => {
    const window = windowInTheWay(group.windows, stay);
    return window === undefined ? [] : [{ window, nodes: group.nodes }];
  });
}

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
  const closed = new Map<string, NodeWindow>();
  for (const { window, nodes } of closedGroups(windows, job, now)) for (const node of nodes) closed.set(node, window);
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
