import { EventQueue } from '../../kernel/event-queue.ts';
import type { JobOutcome, QueueCluster, QueueJob, StartedJob } from '../load/queue-job.ts';
import type { QueueRule } from '../rules/queue-rule.ts';
import { QueueAuditor, type AuditReport } from './queue-auditor.ts';

/** A run of one rule over one list of jobs. */
export interface QueueQuestion {
  readonly cluster: QueueCluster;
  /** By time of submission. */
  readonly jobs: readonly QueueJob[];
  readonly rule: QueueRule;
  /** A wait of at least that long counts as starvation if a smaller job overtakes. */
  readonly starvationMs: number;
  /** Milliseconds of a real clock, for the cost of decisions. */
  readonly stopwatch: () => number;
}

/** What came of a run. */
export interface QueueRun {
  readonly outcomes: readonly JobOutcome[];
  readonly audit: AuditReport;
  /** Real milliseconds of each decision, in order. */
  readonly decisionMs: readonly number[];
}

type QueueEvent =
  | { readonly kind: 'submitted'; readonly job: QueueJob }
  | { readonly kind: 'ended'; readonly started: StartedJob }
  | { readonly kind: 'pass' };

/** Runs until every job has ended, or until no event is left that could start a waiting job. Yields the share of ended jobs now and then. */
export function* simulateQueue(question: QueueQuestion): Generator<number, QueueRun> {
  const run = new Run(question);
  for (let events = 1; run.step(); events++) if (events % EVENTS_PER_REPORT === 0) yield run.endedShare;
  return run.result();
}

const EVENTS_PER_REPORT = 256;

class Run {
  readonly #question: QueueQuestion;
  readonly #events = new EventQueue<QueueEvent>();
  readonly #auditor: QueueAuditor;
  readonly #startMs = new Map<string, number>();
  readonly #decisionMs: number[] = [];
  #submitted = 0;
  #ended = 0;
  #isPassPlanned = false;

  constructor(question: QueueQuestion) {
    this.#question = question;
    this.#auditor = new QueueAuditor(question);
    for (const job of question.jobs) this.#events.push(job.submitMs, { kind: 'submitted', job });
  }

  get endedShare(): number {
    return this.#ended / Math.max(1, this.#question.jobs.length);
  }

  /** Takes all events of the next moment, then lets the rule start jobs. False: there is no event any more. */
  step(): boolean {
    const atMs = this.#events.nextAtMs;
    if (atMs === undefined) return false;
    while (this.#events.nextAtMs === atMs) {
      const next = this.#events.pop();
      if (next !== undefined) this.#take(next.event, atMs);
    }
    this.#pass(atMs);
    return true;
  }

  result(): QueueRun {
    const outcomes = this.#question.jobs.map((job) => {
      const startMs = this.#startMs.get(job.uid);
      return startMs === undefined ? { job } : { job, startMs, endMs: startMs + job.runMs };
    });
    return { outcomes, audit: this.#auditor.report(outcomes), decisionMs: this.#decisionMs };
  }

  #take(event: QueueEvent, nowMs: number): void {
    const { rule } = this.#question;
    if (event.kind === 'pass') this.#isPassPlanned = false;
    else if (event.kind === 'submitted') {
      this.#submitted += 1;
      rule.submitted(event.job, nowMs);
    } else {
      this.#ended += 1;
      this.#auditor.ended(event.started);
      rule.ended(event.started, nowMs);
    }
  }

  #pass(nowMs: number): void {
    const { rule } = this.#question;
    rule.pass({
      nowMs,
      started: (started) => this.#started(started, nowMs),
      promised: () => {
        this.#auditor.observe(rule.promisesOf(), nowMs);
      },
      measure: (decide) => {
        const beganMs = this.#question.stopwatch();
        const decision = decide();
        this.#decisionMs.push(this.#question.stopwatch() - beganMs);
        return decision;
      },
    });
    this.#auditor.observe(rule.promisesOf(), nowMs);
    this.#planPass(nowMs);
  }

  #started(started: StartedJob, nowMs: number): void {
    const { job } = started;
    this.#auditor.started(started, nowMs);
    this.#auditor.observeAfterStart(this.#question.rule.promisesOf(), { by: job, nowMs });
    this.#startMs.set(job.uid, nowMs);
    this.#events.push(nowMs + job.runMs, { kind: 'ended', started });
  }

  /** A pass without another cause, while jobs wait and others run. */
  #planPass(nowMs: number): void {
    const { everyMs } = this.#question.rule;
    const isWaiting = this.#submitted > this.#startMs.size;
    if (everyMs === undefined || this.#isPassPlanned || !isWaiting || this.#events.size === 0) return;
    this.#isPassPlanned = true;
    this.#events.push(nowMs + everyMs, { kind: 'pass' });
  }
}
