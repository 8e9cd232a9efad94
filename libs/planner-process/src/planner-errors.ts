import { DomainError } from '@coxswain/domain-error';
import type { QueueRefusal } from './fair-queue.ts';

/** Advice on how to make a search smaller. */
const NARROWER_HINT =
  'Narrow the question: pin axes that are decided (pinned), allow fewer schedules (allow), or ask for fewer GPUs';

const REFUSALS: Readonly<Record<QueueRefusal | 'displaced', string>> = {
  tenantIsFull: 'too many of your questions are in the planner queue; try again when one of them is answered',
  displaced:
    'the planner queue is full and most questions in it are yours, so your newest was removed; try again when one of them is answered',
  isFull: 'the planner queue is full; try again in a few seconds',
};

/** A search exceeded its limit of time or memory. Retrying does not help; a smaller question may. */
export class OverBudgetError extends DomainError {
  constructor(message: string, options?: ErrorOptions) {
    super('OVER_BUDGET', message);
    this.name = 'OverBudgetError';
    if (options !== undefined) this.cause = options.cause;
  }
}

/** A question was not queued, or was removed from the queue for a tenant with fewer questions (`displaced`). */
export class QueueRefusedError extends DomainError {
  readonly reason: QueueRefusal | 'displaced';

  constructor(reason: QueueRefusal | 'displaced') {
    super('UNAVAILABLE', REFUSALS[reason]);
    this.name = 'QueueRefusedError';
    this.reason = reason;
  }
}

/** The error of questions to a planner that is shutting down. */
export function stoppingError(): DomainError {
  return new DomainError('UNAVAILABLE', 'the planner is stopping; try again in a second');
}

/** The error of a process that did not start in time. */
export function startError(startMs: number): Error {
  return new Error(`the planner process did not start within ${startMs / 1000} s`);
}

/** The error of a search that exceeded its time limit. */
export function timeoutError(timeoutMs: number): OverBudgetError {
  return new OverBudgetError(
    `the search exceeded its time limit of ${timeoutMs / 1000} s and was stopped. ${NARROWER_HINT}`,
  );
}

/** The error of a search that exceeded its memory limit. */
export function memoryError(heapMib: number, options: ErrorOptions): OverBudgetError {
  const exceeded = heapMib === Infinity ? 'ran out of memory' : `exceeded its memory limit of ${heapMib} MiB`;
  return new OverBudgetError(`the search ${exceeded} and was stopped. ${NARROWER_HINT}`, options);
}
