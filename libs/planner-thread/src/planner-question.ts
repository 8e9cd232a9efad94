import type { DomainErrorCode, Violation } from '@coxswain/domain-error';
import type { AskedLayout, PlanAnswer, PlanRequest, Prediction, WhyNotAnswer } from '@coxswain/planner';

/** What the thread can be asked: plain data, since it is copied to the thread. */
export type PlannerQuestion =
  | { readonly kind: 'plan'; readonly request: PlanRequest }
  | { readonly kind: 'predict' | 'whyNot'; readonly request: PlanRequest; readonly asked: AskedLayout };

interface AnswerByKind {
  readonly plan: PlanAnswer;
  readonly predict: Prediction;
  readonly whyNot: WhyNotAnswer;
}

/** What is answered to a question of that kind. */
export type PlannerAnswer<Kind extends PlannerQuestion['kind'] = PlannerQuestion['kind']> = AnswerByKind[Kind];

/** What the thread sends back. */
export type PlannerReply =
  | { readonly kind: 'answered'; readonly answer: PlannerAnswer }
  | {
      readonly kind: 'refused';
      readonly code: DomainErrorCode;
      readonly message: string;
      readonly violations: readonly Violation[];
    };
