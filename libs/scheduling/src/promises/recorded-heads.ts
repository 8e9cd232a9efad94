import { findCondition, type TrainingJob } from '@coxswain/api-types';
import type { PlacementRefusal } from '../gang-request.ts';
import { priorityOf } from '../order/priority.ts';
import type { SchedulerView } from '../scheduler-view.ts';
import { isWaiting } from './node-promises.ts';

/** How long a new leader waits for the jobs for which the leader before it held nodes. */
const LONGEST_WAIT_MS = 30_000;

interface RecordedHeadsParts {
  readonly view: SchedulerView;
  readonly hasAsked: (jobUid: string) => boolean;
}

/**
 * Jobs for which the leader before held nodes, according to their status. Until each of them has asked this process for nodes, their nodes are not
 * known, and jobs that come later in the order wait; at most 30 s.
 */
export class RecordedHeads {
  readonly #parts: RecordedHeadsParts;
  /** Absent before the first question. */
  #sinceMs: number | undefined;
  #isKnown = false;

  constructor(parts: RecordedHeadsParts) {
    this.#parts = parts;
  }

  /** Whether every such job has asked, as of the last question. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Whether every such job has asked, or the time is up; calls `onKnown` when this becomes true. */
  areAllKnown(onKnown: () => void): boolean {
    if (this.#isKnown) return true;
    const nowMs = this.#parts.view.monotonicMs();
    this.#sinceMs ??= nowMs;
    this.#isKnown = nowMs - this.#sinceMs >= LONGEST_WAIT_MS || this.#missing().length === 0;
    if (this.#isKnown) onKnown();
    return this.#isKnown;
  }

  /** A refusal for a job that comes after one of them, with the message that the job has already; undefined: it comes before all. */
  refusalFor(job: TrainingJob): PlacementRefusal | undefined {
    const { uid } = job.metadata;
    const isAhead = (head: TrainingJob): boolean => head.metadata.uid !== uid && priorityOf(head) >= priorityOf(job);
    if (job.status?.expectedStart !== undefined || !this.#missing().some(isAhead)) return undefined;
    const placed = findCondition(job.status?.conditions, 'Placed');
    if (placed?.reason === 'TopologyUnsatisfiable') return { kind: 'unsatisfiable', message: placed.message };
    const message = placed?.reason === 'WaitingForCapacity' ? placed.message : NOT_KNOWN;
    return { kind: 'waiting', message };
  }

  #missing(): readonly TrainingJob[] {
    const { view, hasAsked } = this.#parts;
    return view
      .jobs()
      .filter((job) => job.status?.expectedStart !== undefined && isWaiting(job) && !hasAsked(job.metadata.uid));
  }
}

const NOT_KNOWN = 'The operator has just started and first finds the nodes that are held for jobs ahead of this one.';
