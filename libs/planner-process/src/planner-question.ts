import type { DomainErrorCode, Violation } from '@coxswain/domain-error';
import type {
  FoundNodes,
  JobPlanAnswer,
  JobPlanQuestion,
  NodeSearch,
  PlanJobOptions,
  searchNodes,
} from '@coxswain/job-planning';
import type { AskedLayout, PlanAnswer, PlanRequest, WhyNotAnswer } from '@coxswain/planner';

/** What the planner's process can be asked: whatever searches. Plain data, since it is copied there. */
export type PlannerQuestion =
  | { readonly kind: 'plan'; readonly request: PlanRequest }
  | { readonly kind: 'whyNot'; readonly request: PlanRequest; readonly asked: AskedLayout }
  | { readonly kind: 'planJob'; readonly question: JobPlanQuestion; readonly options: PlanJobOptions }
  | {
      readonly kind: 'findNodes';
      readonly search: NodeSearch;
      readonly capacity: Parameters<typeof searchNodes>[1];
    };

interface AnswerByKind {
  readonly plan: PlanAnswer;
  readonly whyNot: WhyNotAnswer;
  /** undefined: the planner has nothing to say of the job. */
  readonly planJob: JobPlanAnswer | undefined;
  readonly findNodes: FoundNodes;
}

/** What is answered to a question of that kind. */
export type PlannerAnswer<Kind extends PlannerQuestion['kind'] = PlannerQuestion['kind']> = AnswerByKind[Kind];

/** What the process says first: from now on it answers. */
export interface PlannerReady {
  readonly kind: 'ready';
}

/** What the process sends back. */
export type PlannerReply =
  | { readonly kind: 'answered'; readonly answer: PlannerAnswer }
  | {
      readonly kind: 'refused';
      readonly code: DomainErrorCode;
      readonly message: string;
      readonly violations: readonly Violation[];
    };
