import type { TrainingJob } from '@coxswain/api-types';
import type { JobPlanQuestion } from '@coxswain/job-planning';
import { keyOf, type Clock } from '@coxswain/kube';
import type { ObservedPlanning } from '@coxswain/lifecycle';
import { OverBudgetError, type PlannerAnswer, type PlannerQuestion } from '@coxswain/planner-process';

/** The part of the planner's lanes that is used here. */
export interface Planner {
  ask(
    question: PlannerQuestion & { readonly kind: 'planJob' },
    options: { readonly tenant: string; readonly signal: AbortSignal },
  ): Promise<PlannerAnswer<'planJob'>>;
}

/** Options of {@link JobPlanner}. */
export interface JobPlannerOptions {
  readonly planner: Planner;
  readonly clock: Pick<Clock, 'now' | 'setTimer'>;
  /** Called when the planner has answered for the job of that key (`namespace/name`), which must be reconciled. */
  readonly onNews: (key: string) => void;
  /** A question got no answer; for the log. */
  readonly onFailure: (key: string, error: unknown) => void;
}

/** How long a job with a layout of its own waits for its prediction; then it goes on without. */
export const PREDICTION_WAIT_MS = 20_000;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 300_000;
/** Jobs whose outcome is remembered. One that is forgotten too early is asked again, with the same answer. */
const MAX_REMEMBERED = 4_096;

interface Asked {
  readonly abort: AbortController;
  /** Failures of this question in a row. */
  readonly failures: number;
  outcome: ObservedPlanning;
}

/**
 * The questions of the jobs to the planner: asked beside the loop, one per job, and remembered until the job has no use for the outcome. Nothing
 * here is recorded: a new process asks again.
 */
export class JobPlanner {
  readonly #options: JobPlannerOptions;
  /** By UID, oldest question first. */
  readonly #asked = new Map<string, Asked>();

  constructor(options: JobPlannerOptions) {
    this.#options = options;
  }

  /** Jobs that something is remembered for. */
  get size(): number {
    return this.#asked.size;
  }

  planningOf(jobUid: string): ObservedPlanning | undefined {
    return this.#asked.get(jobUid)?.outcome;
  }

  /** Asks without waiting. Another question of the same job is ended; the same one is asked again only after it failed. */
  ask(job: TrainingJob, question: JobPlanQuestion): void {
    const { uid } = job.metadata;
    const before = this.#asked.get(uid);
    const isSame = before?.outcome.key === question.key;
    if (isSame && before?.outcome.kind !== 'failed') return;
    this.forget(uid);
    const asked: Asked = {
      abort: new AbortController(),
      failures: isSame ? (before?.failures ?? 0) : 0,
      outcome: { kind: 'asked', key: question.key },
    };
    this.#asked.set(uid, asked);
    this.#forgetTheOldest();
    void this.#outcomeOf(job, question, asked).then((outcome) => {
      if (this.#asked.get(uid) !== asked) return;
      this.#asked.set(uid, { ...asked, failures: outcome.kind === 'failed' ? asked.failures + 1 : 0, outcome });
      this.#options.onNews(keyOf(job));
    });
  }

  /** Ends the job's question and forgets its outcome. */
  forget(jobUid: string): void {
    this.#asked.get(jobUid)?.abort.abort();
    this.#asked.delete(jobUid);
  }

  /** Ends every question. */
  close(): void {
    for (const uid of [...this.#asked.keys()]) this.forget(uid);
  }

  async #outcomeOf(job: TrainingJob, question: JobPlanQuestion, asked: Asked): Promise<ObservedPlanning> {
    const { key } = question;
    const { clock, onFailure } = this.#options;
    const tooLong = new AbortController();
    const isPrediction = question.spec.layout !== undefined;
    const cancelTimer = isPrediction ? clock.setTimer(PREDICTION_WAIT_MS, () => tooLong.abort(waitedTooLong())) : none;
    const signal = AbortSignal.any([asked.abort.signal, tooLong.signal]);
    try {
      return { kind: 'answered', key, answer: await this.#answerTo(job, question, signal) };
    } catch (error) {
      if (!asked.abort.signal.aborted) onFailure(keyOf(job), error);
      const retryAtMs = clock.now().getTime() + Math.min(FIRST_RETRY_MS * 2 ** asked.failures, LONGEST_RETRY_MS);
      return { kind: 'failed', key, problem: error instanceof Error ? error.message : String(error), retryAtMs };
    } finally {
      cancelTimer();
    }
  }

  /** If a search exceeds its budget, a smaller search is better than no layout. */
  async #answerTo(job: TrainingJob, question: JobPlanQuestion, signal: AbortSignal): Promise<PlannerAnswer<'planJob'>> {
    const { planner } = this.#options;
    const options = { tenant: job.metadata.namespace ?? '', signal };
    try {
      return await planner.ask({ kind: 'planJob', question, options: { isBounded: false } }, options);
    } catch (error) {
      if (!(error instanceof OverBudgetError) || question.spec.layout !== undefined) throw error;
      return planner.ask({ kind: 'planJob', question, options: { isBounded: true } }, options);
    }
  }

  #forgetTheOldest(): void {
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > MAX_REMEMBERED && oldest !== undefined) this.forget(oldest);
  }
}

function waitedTooLong(): Error {
  return new Error(`the planner did not answer within ${PREDICTION_WAIT_MS / 1_000} s`);
}

function none(): void {
  // Nothing to cancel.
}
