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

/** A question to the planner process. Plain data, because it is copied to the process. */
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
  /** undefined: the planner has no answer for the job. */
  readonly planJob: JobPlanAnswer | undefined;
  readonly findNodes: FoundNodes;
}

/** The answer to a question of a kind. */
export type PlannerAnswer<Kind extends PlannerQuestion['kind'] = PlannerQuestion['kind']> = AnswerByKind[Kind];

/** The first message of the process: it is ready for questions. */
export interface PlannerReady {
  readonly kind: 'ready';
}

/** The reply of the process to a question. */
export type PlannerReply =
  | { readonly kind: 'answered'; readonly answer: PlannerAnswer }
  | {
      readonly kind: 'refused';
      readonly code: DomainErrorCode;
      readonly message: string;
      readonly violations: readonly Violation[];
    };
