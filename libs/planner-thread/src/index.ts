export { PlannerLanes } from './planner-lanes.ts';
export { OverBudgetError, PlannerThread, QueueRefusedError } from './planner-thread.ts';
export type { PlannerAnswer, PlannerQuestion } from './planner-question.ts';
