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

/** While a tenant has a question in the patient lane, its others have this part of the quick lane's time. */
const SHARE_OF_QUICK_TIME = 1 / 8;

/**
 * Two planner processes, so that short questions do not wait for long ones. The quick lane searches every question first, with small limits. A question that
 * exceeds them is searched again in the patient lane. So a long question takes longer by the limit of the quick lane, and a short one waits at most that long
 * for each other tenant. A tenant with many long questions holds the quick lane for that long once, and for a fraction of it with each of the next ones.
 */
export class PlannerLanes {
  readonly #quick: PlannerProcess;
  readonly #patient: PlannerProcess;
  readonly #quickTimeoutMs: number;
  /** Questions of each tenant in the patient lane. */
  readonly #long = new Map<string, number>();

  constructor({ quick, patient, ...replaced }: PlannerLanesOptions) {
    this.#quick = new PlannerProcess({ ...replaced, limits: quick });
    this.#patient = new PlannerProcess({ ...replaced, limits: patient });
    this.#quickTimeoutMs = quick.timeoutMs ?? Infinity;
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
    const { tenant } = options;
    const timeoutMs = (): number => this.#quickTimeoutMs * (this.#long.has(tenant) ? SHARE_OF_QUICK_TIME : 1);
    try {
      return await this.#quick.ask(question, { ...options, timeoutMs });
    } catch (error) {
      if (!(error instanceof OverBudgetError)) throw error;
    }
    this.#countLong(tenant, 1);
    try {
      return await this.#patient.ask(question, options);
    } finally {
      this.#countLong(tenant, -1);
    }
  }

  #countLong(tenant: string, change: 1 | -1): void {
    const count = (this.#long.get(tenant) ?? 0) + change;
    if (count === 0) this.#long.delete(tenant);
    else this.#long.set(tenant, count);
  }

  /** Ends both processes and rejects open questions with UNAVAILABLE. */
  async close(): Promise<void> {
    await Promise.all([this.#quick.close(), this.#patient.close()]);
  }
}
