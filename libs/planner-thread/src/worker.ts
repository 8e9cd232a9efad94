/** The thread's side: answers one question at a time, and keeps nothing between two. See `planner-thread.ts`. */
import { parentPort } from 'node:worker_threads';
import { isDomainError } from '@coxswain/domain-error';
import { planJob } from '@coxswain/job-planning';
import { plan, whyNot } from '@coxswain/planner';
import type { PlannerAnswer, PlannerQuestion, PlannerReady, PlannerReply } from './planner-question.ts';

parentPort?.on('message', (question: PlannerQuestion) => {
  parentPort?.postMessage(replyTo(question));
});

parentPort?.postMessage({ kind: 'ready' } satisfies PlannerReady);

/** What is no refusal of the planner is a defect and ends the thread; whoever asked is told. */
function replyTo(question: PlannerQuestion): PlannerReply {
  try {
    return { kind: 'answered', answer: answerTo(question) };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return { kind: 'refused', code: error.code, message: error.message, violations: error.violations };
  }
}

function answerTo(question: PlannerQuestion): PlannerAnswer {
  switch (question.kind) {
    case 'plan':
      return plan(question.request);
    case 'whyNot':
      return whyNot(question.request, question.asked);
    case 'planJob':
      return planJob(question.question, question.options);
  }
}
