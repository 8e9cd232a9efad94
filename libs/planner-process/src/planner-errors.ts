import { DomainError } from '@coxswain/domain-error';
import type { QueueRefusal } from './fair-queue.ts';

/** What makes a search smaller, for whoever asks in whatever way. */
const NARROWER =
  'Narrow the question: pin axes that are decided (pinned), allow fewer schedules (allow), or ask for fewer GPUs';

const REFUSALS: Readonly<Record<QueueRefusal | 'displaced', string>> = {
  tenantIsFull: 'too many of your questions wait for the planner; try again when one of them is answered',
  displaced:
    'too many questions wait for the planner, most of them yours, and your newest gave its place to another’s; try again when one of them is answered',
  isFull: 'the planner has more to do than it can; try again in some seconds',
};

/** A search took more time or memory than it may. Asking again is of no use; a smaller question may be answered. */
export class OverBudgetError extends DomainError {
  constructor(message: string, options?: ErrorOptions) {
    super('OVER_BUDGET', message);
    this.name = 'OverBudgetError';
    if (options !== undefined) this.cause = options.cause;
  }
}

/** A question may not wait, or has waited and gave its place to a tenant with fewer (`displaced`). */
export class QueueRefusedError extends DomainError {
  readonly reason: QueueRefusal | 'displaced';

  constructor(reason: QueueRefusal | 'displaced') {
    super('UNAVAILABLE', REFUSALS[reason]);
    this.name = 'QueueRefusedError';
    this.reason = reason;
  }
}

export function stoppingError(): DomainError {
  return new DomainError('UNAVAILABLE', 'the planner is stopping; try again in a second');
}

export function startError(startMs: number): Error {
  return new Error(`the process of the planner did not start within ${startMs / 1000} s`);
}

export function timeoutError(timeoutMs: number): OverBudgetError {
  return new OverBudgetError(
    `the search took longer than ${timeoutMs / 1000} s, which is its budget, and was ended. ${NARROWER}`,
  );
}

export function memoryError(heapMib: number, options: ErrorOptions): OverBudgetError {
  const budget = heapMib === Infinity ? 'there is' : `${heapMib} MiB, which is its budget`;
  return new OverBudgetError(`the search needed more memory than ${budget}, and was ended. ${NARROWER}`, options);
}
