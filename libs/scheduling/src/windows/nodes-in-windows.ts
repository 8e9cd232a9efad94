import type { PlacementSpec, TrainingJob } from '@coxswain/api-types';
import { type NodeWindow, windowInTheWay } from '@coxswain/fabric';
import { attemptHoldingReservation } from '../reservations/reservations.ts';
import type { SchedulerView } from '../scheduler-view.ts';
import { type ClosedWindow, describeClosed, stayOf } from './closed-windows.ts';

/** Parts of {@link NodesInWindows}. */
interface NodesInWindowsParts {
  readonly view: Pick<SchedulerView, 'job' | 'now' | 'windows'>;
  readonly gpusOf: (node: string) => number;
}

/** The windows of the cluster. */
interface Known {
  readonly byNode: ReadonlyMap<string, readonly NodeWindow[]>;
  /** Each window once, with the number of its nodes. */
  readonly all: readonly ClosedWindow[];
}

/**
 * Nodes that windows of the Fabric keep jobs off, as the scheduler uses them. Windows open and close with the time of day. Which of at most 64 windows are
 * in a job's way is decided for each job; nodes are looked at only where one is.
 */
export class NodesInWindows {
  readonly #parts: NodesInWindowsParts;
  #known: Known | undefined;

  constructor(parts: NodesInWindowsParts) {
    this.#parts = parts;
  }

  /** Adds to the used GPUs all GPUs of nodes that the job of that UID may not be placed on now. */
  withClosed(used: ReadonlyMap<string, number>, jobUid: string): ReadonlyMap<string, number> {
    const names = namesOf(this.#closedTo(this.#parts.view.job(jobUid)));
    if (names.size === 0) return used;
    const all = new Map(used);
    for (const [node, windows] of this.#windows().byNode)
      if (windows.some(({ name }) => names.has(name))) all.set(node, this.#parts.gpusOf(node));
    return all;
  }

  /** Equal for jobs that the same windows keep off their nodes; empty for one that no window does. */
  usesOf(jobUid: string): string {
    const names = namesOf(this.#closedTo(this.#parts.view.job(jobUid)));
    return names.size === 0 ? '' : ` off ${[...names].join(' ')}`;
  }

  /** Whether no window keeps the job off the placement's nodes. A placement whose attempt is under way is beyond the question. */
  allows({ nodes }: PlacementSpec, job: TrainingJob): boolean {
    if (attemptHoldingReservation(job) !== undefined) return true;
    const names = namesOf(this.#closedTo(job));
    if (names.size === 0) return true;
    const { byNode } = this.#windows();
    return !nodes.some((node) => byNode.get(node)?.some(({ name }) => names.has(name)) === true);
  }

  /** Which windows keep the job of that UID off how many nodes, in a sentence; undefined: none does. */
  describe(jobUid: string): string | undefined {
    return describeClosed(this.#closedTo(this.#parts.view.job(jobUid)));
  }

  /** Windows that keep the job off their nodes now, the first to begin first. */
  #closedTo(job: TrainingJob | undefined): readonly ClosedWindow[] {
    const now = this.#parts.view.now?.();
    const { all } = this.#windows();
    if (all.length === 0 || job === undefined || now === undefined) return [];
    const stay = stayOf(job, now);
    return all.filter(({ window }) => windowInTheWay([window], stay) !== undefined);
  }

  #windows(): Known {
    const byNode = this.#parts.view.windows?.() ?? NO_NODES;
    if (this.#known?.byNode === byNode) return this.#known;
    const all = new Map<string, ClosedWindow>();
    for (const windows of byNode.values())
      for (const window of windows) all.set(window.name, { window, nodes: (all.get(window.name)?.nodes ?? 0) + 1 });
    const inOrder = [...all.values()].toSorted((one, other) => one.window.fromMs - other.window.fromMs);
    this.#known = { byNode, all: inOrder };
    return this.#known;
  }
}

const NO_NODES: ReadonlyMap<string, readonly NodeWindow[]> = new Map();

function namesOf(closed: readonly ClosedWindow[]): ReadonlySet<string> {
  return new Set(closed.map(({ window }) => window.name));
}
