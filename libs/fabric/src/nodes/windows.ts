/** When is a node out of service, or kept for one project? Pure. */
import { type FabricWindow, WINDOW_HELD_SECONDS } from '@coxswain/api-types';
import type { NodeFacts } from './fabric.ts';
import { isMeant } from './overrides.ts';
import { type FabricProblem, listedNames } from './problem.ts';

/** How long before the announced time gangs leave: a save of the largest model takes minutes, and jobs are reconciled at least every five. */
export const LEAVE_BEFORE_MS = 900_000;

/** A window over one node. Times are milliseconds since 1970. */
export interface NodeWindow {
  readonly name: string;
  readonly fromMs: number;
  readonly untilMs: number;
  /** From then on, a job that would still run at `fromMs` is not placed here. */
  readonly heldFromMs: number;
  /** Namespace whose jobs the nodes are kept for; absent: maintenance, no job may stay. */
  readonly namespace?: string;
}

/** Windows over that node, in the order in which they begin. */
export function windowsOfNode(
  node: Pick<NodeFacts, 'name' | 'labels'>,
  windows: readonly FabricWindow[],
): readonly NodeWindow[] {
  return windows
    .filter((window) => isMeant(node, window))
    .map(({ name, from, until, namespace, heldForSeconds = WINDOW_HELD_SECONDS }) => {
      const fromMs = Date.parse(from);
      return {
        name,
        fromMs,
        untilMs: Date.parse(until),
        heldFromMs: fromMs - heldForSeconds * 1_000,
        ...(namespace === undefined ? {} : { namespace }),
      };
    })
    .toSorted((one, other) => one.fromMs - other.fromMs);
}

/** A job that is to be placed. */
interface Stay {
  readonly namespace: string;
  readonly nowMs: number;
  /** When it will have ended, by its latest estimate; Infinity: not known. */
  readonly endMs: number;
}

/** The first window that keeps the job off the node now; undefined: none does. */
export function windowInTheWay(windows: readonly NodeWindow[], stay: Stay): NodeWindow | undefined {
  return windows.find((window) => isInTheWay(window, stay));
}

function isInTheWay(window: NodeWindow, { namespace, nowMs, endMs }: Stay): boolean {
  const closed = window.namespace === namespace ? undefined : closedTimeOf(window, nowMs);
  return closed !== undefined && (nowMs >= closed.fromMs || endMs > closed.fromMs);
}

/**
 * The time in which no job may run on the window's nodes that is placed at `nowMs`, other than jobs of the namespace that it is kept for; undefined: the
 * window is over, or is so far away that jobs are placed across it and move when it begins.
 */
export function closedTimeOf(
  { fromMs, untilMs, heldFromMs }: NodeWindow,
  nowMs: number,
): { readonly fromMs: number; readonly untilMs: number } | undefined {
  if (nowMs >= untilMs) return undefined;
  const leaveMs = fromMs - LEAVE_BEFORE_MS;
  if (nowMs >= leaveMs) return { fromMs: leaveMs, untilMs };
  return nowMs >= heldFromMs ? { fromMs, untilMs } : undefined;
}

/**
 * Windows that do not do what their author may think. Windows that are over by `nowMs` have no effect and may stay in the spec, so they are no problem.
 * `byNode`: the windows over each node, by name of the node.
 */
export function windowProblems(
  windows: readonly FabricWindow[],
  byNode: ReadonlyMap<string, readonly NodeWindow[]>,
  nowMs: number,
): readonly FabricProblem[] {
  const nodesOf = new Map<string, Set<string>>(windows.map(({ name }) => [name, new Set()]));
  for (const [node, over] of byNode) for (const { name } of over) nodesOf.get(name)?.add(node);
  const current = windows.filter(({ until }) => Date.parse(until) > nowMs);
  return current.flatMap((window, index) => {
    const nodes = nodesOf.get(window.name) ?? new Set();
    const contradicting = current
      .slice(0, index)
      .filter((other) => window.namespace !== other.namespace && overlap(window, other))
      .map((other) => ({ other, both: [...(nodesOf.get(other.name) ?? [])].filter((node) => nodes.has(node)) }))
      .filter(({ both }) => both.length > 0);
    return [
      ...(nodes.size === 0 ? [selectsNoNode(window)] : []),
      ...contradicting.map(({ other, both }) => keepsAllOut([other, window], both)),
    ];
  });
}

function overlap(one: FabricWindow, other: FabricWindow): boolean {
  return Date.parse(one.from) < Date.parse(other.until) && Date.parse(other.from) < Date.parse(one.until);
}

function selectsNoNode({ name }: FabricWindow): FabricProblem {
  const message = `Window ${name} of the Fabric selects no node of the cluster. Correct nodes or nodeSelector in spec.windows, or remove the window.`;
  return { kind: 'WindowWithoutNodes', nodes: [], message };
}

function keepsAllOut([one, other]: readonly [FabricWindow, FabricWindow], nodes: readonly string[]): FabricProblem {
  const message = `Windows ${one.name} and ${other.name} of the Fabric overlap on ${listedNames(nodes)} and are not for the same namespace, so no job may be there while both are open.`;
  return { kind: 'WindowsOverlap', nodes: nodes.slice(0, MOST_NODES), message };
}

/** Of a problem; the message counts the others. */
const MOST_NODES = 5;
