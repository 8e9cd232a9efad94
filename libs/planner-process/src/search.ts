/** Program of the search process: the planner, without state between questions. See `planner-process.ts`. */
import { isDomainError } from '@coxswain/domain-error';
import { plan, whyNot } from '@coxswain/planner';
import { answerQuestions } from './answer-questions.ts';
import type { PlannerAnswer, PlannerQuestion, PlannerReply } from './planner-question.ts';

answerQuestions(replyTo);

async function replyTo(question: PlannerQuestion): Promise<PlannerReply> {
  try {
    return { kind: 'answered', answer: await answerTo(question) };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return { kind: 'refused', code: error.code, message: error.message, violations: error.violations };
  }
}

/** Questions about jobs load the rules of placement. Questions of a command line about plans do not wait for these. */
async function answerTo(question: PlannerQuestion): Promise<PlannerAnswer> {
  switch (question.kind) {
    case 'plan':
      return plan(question.request);
    case 'whyNot':
      return whyNot(question.request, question.asked);
    case 'planJob': {
      const { planJob } = await import('@coxswain/job-planning');
      return planJob(question.question, question.options);
    }
    case 'findNodes': {
      const { searchNodes } = await import('@coxswain/job-planning');
      return searchNodes(question.search, question.capacity);
    }
  }
}
