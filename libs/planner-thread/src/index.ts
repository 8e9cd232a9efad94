export { OverBudgetError, PlannerThread } from './planner-thread.ts';
export type { PlannerAnswer, PlannerQuestion } from './planner-question.ts';
