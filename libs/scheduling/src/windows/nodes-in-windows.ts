import type { PlacementSpec, TrainingJob } from '@coxswain/api-types';
import type { NodeWindow } from '@coxswain/fabric';
import { attemptHoldingReservation } from '../reservations/reservations.ts';
import type { SchedulerView } from '../scheduler-view.ts';
import { closedNodes, closingWindows, describeClosed } from './closed-nodes.ts';

/** Nodes that windows of the Fabric keep jobs off, as the scheduler uses them. Windows open and close with the time of day, so nothing is kept. */
export class NodesInWindows {
  readonly #view: Pick<SchedulerView, 'job' | 'now' | 'windows'>;

  constructor(view: Pick<SchedulerView, 'job' | 'now' | 'windows'>) {
    this.#view = view;
  }

  /** Adds to the used GPUs all GPUs of nodes that the job of that UID may not be placed on now. */
  withClosed(
    used: ReadonlyMap<string, number>,
    jobUid: string,
    gpusOf: (node: string) => number,
  ): ReadonlyMap<string, number> {
    const closed = this.#closedTo(this.#view.job(jobUid));
    return closed.size === 0
      ? used
      : new Map([...used, ...[...closed.keys()].map((node) => [node, gpusOf(node)] as const)]);
  }

  /** Equal for jobs that the same windows keep off their nodes; empty for one that no window does. */
  usesOf(jobUid: string): string {
    const asked = this.#askFor(this.#view.job(jobUid));
    const names = asked === undefined ? [] : [...closingWindows(...asked)];
    return names.length === 0 ? '' : ` off ${names.toSorted().join(' ')}`;
  }

  /** Whether no window keeps the job off the placement's nodes. A placement whose attempt is under way is beyond the question. */
  allows({ nodes }: PlacementSpec, job: TrainingJob): boolean {
    const closed = this.#closedTo(job);
    return closed.size === 0 || attemptHoldingReservation(job) !== undefined || !nodes.some((node) => closed.has(node));
  }

  /** Which windows keep the job of that UID off how many nodes, in a sentence; undefined: none does. */
  describe(jobUid: string): string | undefined {
    return describeClosed(this.#closedTo(this.#view.job(jobUid)));
  }

  #closedTo(job: TrainingJob | undefined): ReadonlyMap<string, NodeWindow> {
    const asked = this.#askFor(job);
    return asked === undefined ? NONE : closedNodes(...asked);
  }

  #askFor(job: TrainingJob | undefined): Parameters<typeof closedNodes> | undefined {
    const windows = this.#view.windows?.();
    const now = this.#view.now?.();
    return job === undefined || now === undefined || windows === undefined ? undefined : [windows, job, now];
  }
}

const NONE: ReadonlyMap<string, NodeWindow> = new Map();
