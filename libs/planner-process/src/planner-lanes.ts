import type { PlannerAnswer, PlannerQuestion } from './planner-question.ts';
import { OverBudgetError } from './planner-errors.ts';
import {
  type AskOptions,
  type PlannerLimits,
  type PlannerLoad,
  PlannerProcess,
  type SetTimer,
} from './planner-process.ts';

export interface PlannerLanesOptions {
  /** Of every question first, and of those that it does not suffice for. Unset limits are those of a {@link PlannerProcess}. */
  readonly quick: Partial<PlannerLimits>;
  readonly patient: Partial<PlannerLimits>;
  /** Stands in for the planner in tests. */
  readonly program?: URL;
  readonly setTimer?: SetTimer;
}

/**
 * Two processes of the planner, so that nobody's short question waits for somebody's long one. Every question is first searched in the quick lane,
 * with a small budget; one that outgrows it is searched anew in the patient lane, behind those that went there before. Long questions pay for that
 * with the quick lane's budget, and short ones wait for one such budget of each other tenant that asks.
 */
export class PlannerLanes {
  readonly #quick: PlannerProcess;
  readonly #patient: PlannerProcess;

  constructor({ quick, patient, ...replaced }: PlannerLanesOptions) {
    this.#quick = new PlannerProcess({ ...replaced, limits: quick });
    this.#patient = new PlannerProcess({ ...replaced, limits: patient });
  }

  /** Questions of both lanes. */
  get load(): PlannerLoad {
    const [quick, patient] = [this.#quick.load, this.#patient.load];
    return { waiting: quick.waiting + patient.waiting, running: quick.running + patient.running };
  }

  /** What the planner answers; rejects as {@link PlannerProcess.ask} does, with the budgets of the patient lane. */
  async ask<Question extends PlannerQuestion>(
    question: Question,
    options: AskOptions,
  ): Promise<PlannerAnswer<Question['kind']>> {
    try {
      return await this.#quick.ask(question, options);
    } catch (error) {
      if (!(error instanceof OverBudgetError)) throw error;
      return this.#patient.ask(question, options);
    }
  }

  /** Ends both processes; whoever waits is told that the planner is unavailable. */
  async close(): Promise<void> {
    await Promise.all([this.#quick.close(), this.#patient.close()]);
  }
}
