/** Runs the planner in a thread of its own: see `planner-thread.ts`. */
import { isDomainError } from '@coxswain/domain-error';
import { plan, predict, whyNot } from '@coxswain/planner';
import { parentPort, workerData } from 'node:worker_threads';
import type { PlannerReply, PlannerTask } from './planner-thread.ts';

function replyTo(task: PlannerTask): PlannerReply {
  switch (task.kind) {
    case 'plan':
      return { kind: 'plan', answer: plan(task.request) };
    case 'predict':
      return { kind: 'predict', prediction: predict(task.request, task.asked) };
    case 'whyNot':
      return { kind: 'whyNot', answer: whyNot(task.request, task.asked) };
  }
}

try {
  parentPort?.postMessage(replyTo(workerData as PlannerTask));
} catch (error) {
  if (!isDomainError(error)) throw error;
  const { code, message, violations } = error;
  const reasons = violations.length > 1 ? violations.map(({ pointer, detail }) => `${pointer}: ${detail}`) : [message];
  const refused: PlannerReply = { kind: 'refused', isLayout: code === 'INVALID_LAYOUT', reasons };
  parentPort?.postMessage(refused);
}
