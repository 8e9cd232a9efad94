import type { StepReport } from '@coxswain/api-types';
import type { StepWords } from '../engine/engine-run.ts';
import type { StepFact } from '../facts/engine-facts.ts';
import type { StepLine } from '../step-lines/printed-step.ts';
import { StepCollector } from './step-collector.ts';
import { TrainingProgress } from './training-progress.ts';
import { StepThrottle } from './step-throttle.ts';

const POLL_MS = 200;

/** How the engine's output is read for steps, and where steps are reported. */
export interface StepReporterOptions {
  readonly stepWords: StepWords | undefined;
  readonly report: (report: StepReport) => void;
}

/** Joins what ranks and their output say of each step, and reports steps no faster than the operator accepts them. */
export class StepReporter {
  readonly #options: StepReporterOptions;
  readonly #throttle = new StepThrottle<StepReport>(performance.now());
  readonly #timer: NodeJS.Timeout;
  /** Of the ranks that run, from each step that was reported. */
  readonly progress = new TrainingProgress();
  #collector = new StepCollector(0);

  constructor(options: StepReporterOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#poll(performance.now()), POLL_MS);
  }

  /** Steps that a newer one replaced before the operator accepted them, since the start. */
  get skipped(): number {
    return this.#throttle.skipped;
  }

  /** Other ranks start. */
  begin(rankCount: number, fromStep: number): void {
    this.progress.begin(fromStep);
    const { stepLines, tokensPerStep } = this.#options.stepWords ?? {};
    this.#collector = new StepCollector(rankCount, {
      hasLines: stepLines !== undefined,
      tokensPerStep: tokensPerStep ?? null,
    });
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  setRate(stepsPerSecond: number): void {
    this.#throttle.setRate(stepsPerSecond);
  }

  receive(rank: number, fact: StepFact): void {
    this.#offer(this.#collector.push(rank, fact, performance.now()));
  }

  /** The engine printed a line about a step. */
  receiveLine(rank: number, line: StepLine): void {
    this.#offer(this.#collector.note(rank, line, performance.now()));
  }

  /** Reports everything that waits: no more steps follow. */
  flush(): void {
    this.#offer(this.#collector.flush());
    this.#report(this.#throttle.flush());
  }

  #poll(nowMs: number): void {
    this.#offer(this.#collector.overdue(nowMs));
    this.#report(this.#throttle.poll(nowMs));
  }

  #offer(reports: readonly StepReport[]): void {
    for (const report of reports) {
      this.progress.note(report);
      this.#report(this.#throttle.offer(report, performance.now()));
    }
  }

  #report(report: StepReport | undefined): void {
    if (report !== undefined) this.#options.report(report);
  }
}
