export { OverBudgetError, QueueRefusedError } from './planner-errors.ts';
export { PlannerLanes } from './planner-lanes.ts';
export { PlannerProcess } from './planner-process.ts';
export type { PlannerAnswer, PlannerQuestion } from './planner-question.ts';
