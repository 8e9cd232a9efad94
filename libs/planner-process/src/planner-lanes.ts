import type { PlannerAnswer, PlannerQuestion } from './planner-question.ts';
import { OverBudgetError } from './planner-errors.ts';
import {
  type AskOptions,
  type PlannerLimits,
  type PlannerLoad,
  PlannerProcess,
  type SetTimer,
} from './planner-process.ts';

/** Options of {@link PlannerLanes}. */
export interface PlannerLanesOptions {
  /** Limits of the quick lane, which tries every question first, and of the patient lane. Absent limits are those of a {@link PlannerProcess}. */
  readonly quick: Partial<PlannerLimits>;
  readonly patient: Partial<PlannerLimits>;
  /** Replaces the planner in tests. */
  readonly program?: URL;
  readonly setTimer?: SetTimer;
}

/**
 * Two planner processes, so that short questions do not wait for long ones. The quick lane searches every question first, with small limits. A question that
 * exceeds them is searched again in the patient lane. So a long question takes longer by the limit of the quick lane, and a short one waits at most that long
 * for each other tenant.
 */
export class PlannerLanes {
  readonly #quick: PlannerProcess;
  readonly #patient: PlannerProcess;

  constructor({ quick, patient, ...replaced }: PlannerLanesOptions) {
    this.#quick = new PlannerProcess({ ...replaced, limits: quick });
    this.#patient = new PlannerProcess({ ...replaced, limits: patient });
  }

  /** Number of questions in both lanes. */
  get load(): PlannerLoad {
    const [quick, patient] = [this.#quick.load, this.#patient.load];
    return { waiting: quick.waiting + patient.waiting, running: quick.running + patient.running };
  }

  /** Asks the planner. Rejects like {@link PlannerProcess.ask}, with the limits of the patient lane. */
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

  /** Ends both processes and rejects open questions with UNAVAILABLE. */
  async close(): Promise<void> {
    await Promise.all([this.#quick.close(), this.#patient.close()]);
  }
}
