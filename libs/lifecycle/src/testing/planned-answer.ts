import { type JobPlanAnswer, type JobPlanQuestion, planJob } from '@coxswain/job-planning';

const answers = new Map<string, JobPlanAnswer | undefined>();

/** What the planner answers; searched once per question, since properties ask the same one thousands of times. */
export function plannedAnswer(question: JobPlanQuestion): JobPlanAnswer | undefined {
  if (!answers.has(question.key)) answers.set(question.key, planJob(question, { isBounded: false }));
  return answers.get(question.key);
}
