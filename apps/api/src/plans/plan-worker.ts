import { parentPort } from 'node:worker_threads';
import { isDomainError } from '@coxswain/domain-error';
import { plan } from '@coxswain/planner';
import type { PlanningReply, PlanningTask } from './planning-thread.ts';

/** The thread in which layouts are searched, so that the event loop goes on answering. One request at a time; it keeps nothing. */
parentPort?.on('message', (task: PlanningTask) => {
  parentPort?.postMessage(replyTo(task));
});

function replyTo({ request }: PlanningTask): PlanningReply {
  try {
    return { kind: 'answered', answer: plan(request) };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return { kind: 'refused', code: error.code, message: error.message, violations: error.violations };
  }
}
