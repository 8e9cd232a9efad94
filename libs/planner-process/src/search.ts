/** Program of the search process: the planner, without state between questions. See `planner-process.ts`. */
import { isDomainError } from '@coxswain/domain-error';
import { planJob, searchNodes } from '@coxswain/job-planning';
import { plan, whyNot } from '@coxswain/planner';
import { answerQuestions } from './answer-questions.ts';
import type { PlannerAnswer, PlannerQuestion, PlannerReply } from './planner-question.ts';

answerQuestions(replyTo);

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
    case 'findNodes':
      return searchNodes(question.search, question.capacity);
  }
}
