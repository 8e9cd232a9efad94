import { EventQueue } from '../../kernel/event-queue.ts';
import { LEAVE_MS, lostMs, RESTART_MS, SAVE_EVERY_MS } from '../load/preemption.ts';
import {
  gpusOfJob,
  type JobOutcome,
  type QueueCluster,
  type QueueJob,
  type QueueSpan,
  type StartedJob,
} from '../load/queue-job.ts';
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
  | { readonly kind: 'ended' | 'left'; readonly started: StartedJob; readonly run: number }
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
  readonly #endMs = new Map<string, number>();
  /** Runs that hold nodes now, by UID of the job. */
  readonly #active = new Map<string, ActiveRun>();
  /** Runs that are over. */
  readonly #spans = new Map<string, QueueSpan[]>();
  /** Training that is left, on all pods, of jobs that made room. */
  readonly #leftMs = new Map<string, number>();
  readonly #podsOf: ReadonlyMap<string, number>;
  /** Runs that stop to go on with more pods. */
  readonly #growing = new Set<number>();
  readonly #decisionMs: number[] = [];
  #runs = 0;
  #submitted = 0;
  #ended = 0;
  /** Jobs that made room and have not started again. */
  #waitingAgain = 0;
  #isPassPlanned = false;

  constructor(question: QueueQuestion) {
    this.#question = question;
    this.#auditor = new QueueAuditor(question);
    this.#podsOf = new Map(question.jobs.map(({ uid, pods }) => [uid, pods]));
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
      const endMs = this.#endMs.get(job.uid);
      if (startMs === undefined) return { job };
      return { job, startMs, ...(endMs === undefined ? {} : { endMs }), runs: this.#spans.get(job.uid) ?? [] };
    });
    return { outcomes, audit: this.#auditor.report(outcomes), decisionMs: this.#decisionMs };
  }

  #take(event: QueueEvent, nowMs: number): void {
    const { rule } = this.#question;
    if (event.kind === 'pass') this.#isPassPlanned = false;
    else if (event.kind === 'submitted') {
      this.#submitted += 1;
      rule.submitted(event.job, nowMs);
    } else this.#over(event, nowMs);
  }

  /** A run is over: its job has ended, or has made room. */
  #over({ kind, started, run }: Extract<QueueEvent, { readonly run: number }>, nowMs: number): void {
    const { rule } = this.#question;
    const { job } = started;
    const active = this.#active.get(job.uid);
    // A job that ends by itself while it is asked to stop, or the planned end of a run that made room.
    if (active?.run !== run) return;
    this.#active.delete(job.uid);
    this.#auditor.ended(started);
    if (kind === 'left') this.#makeRoom(active, nowMs);
    else {
      this.#addSpan(active, nowMs, 0);
      this.#endMs.set(job.uid, nowMs);
      this.#ended += 1;
      rule.ended(started, nowMs);
    }
  }

  /** What the job trained since its start is kept, but for what was not saved; the rest is trained after its next start. */
  #makeRoom(active: ActiveRun, nowMs: number): void {
    const { job } = active.started;
    const trainedMs = Math.max(0, nowMs - LEAVE_MS - active.startMs - active.delayMs);
    const lost = lostMs(job, trainedMs);
    this.#auditor.claims.left(job, lost, SAVE_EVERY_MS);
    this.#leftMs.set(job.uid, Math.max(0, active.workMs - (trainedMs - lost) * active.pace));
    this.#addSpan(active, nowMs, gpusOfJob(job) * (LEAVE_MS + RESTART_MS + lost));
    this.#waitingAgain += 1;
    this.#question.rule.left?.(active.started, nowMs);
  }

  #addSpan({ started: { job }, startMs, run }: ActiveRun, endMs: number, lostGpuMs: number): void {
    const spans = this.#spans.get(job.uid) ?? [];
    const grew = this.#growing.delete(run) ? { grew: true as const } : {};
    spans.push({ startMs, endMs, pods: job.pods, lostGpuMs, ...grew });
    this.#spans.set(job.uid, spans);
  }

  #pass(nowMs: number): void {
    const { rule } = this.#question;
    rule.pass({
      nowMs,
      started: (started) => this.#started(started, nowMs),
      claimed: (claim) => {
        this.#auditor.claims.claimed(claim);
        this.#events.push(claim.expiresMs, { kind: 'pass' });
      },
      claimEnded: (jobUid) => this.#auditor.claims.claimEnded(jobUid, nowMs),
      stopped: (uid, forUid) => this.#stopped(uid, forUid, nowMs),
      grows: (uid) => this.#leaves(uid, nowMs, { grows: true }),
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
    const left = this.#leftMs.get(job.uid);
    const workMs = left ?? job.runMs;
    const delayMs = left === undefined ? 0 : RESTART_MS;
    const pace = job.pods / (this.#podsOf.get(job.uid) ?? job.pods);
    const hasTrained = workMs < job.runMs;
    this.#auditor.started(started, nowMs, { delayMs, share: workMs / job.runMs / pace, hasTrained });
    this.#auditor.observeAfterStart(this.#question.rule.promisesOf(), { by: job, nowMs });
    if (this.#startMs.has(job.uid)) this.#waitingAgain -= 1;
    else this.#startMs.set(job.uid, nowMs);
    this.#runs += 1;
    this.#active.set(job.uid, { started, startMs: nowMs, workMs, delayMs, pace, run: this.#runs });
    this.#events.push(nowMs + delayMs + Math.ceil(workMs / pace), { kind: 'ended', started, run: this.#runs });
  }

  #stopped(uid: string, forUid: string, nowMs: number): void {
    const active = this.#active.get(uid);
    if (active === undefined) return;
    this.#auditor.claims.stopped(active.started.job, forUid);
    this.#leaves(uid, nowMs, { grows: false });
  }

  #leaves(uid: string, nowMs: number, { grows }: { readonly grows: boolean }): void {
    const active = this.#active.get(uid);
    if (active === undefined) return;
    const { started, run } = active;
    if (grows) this.#growing.add(run);
    this.#events.push(nowMs + LEAVE_MS, { kind: 'left', started, run });
  }

  /** A pass without another cause, while jobs wait and others run. */
  #planPass(nowMs: number): void {
    const { everyMs, isWaiting: isRuleWaiting = false } = this.#question.rule;
    const isWaiting = isRuleWaiting || this.#submitted > this.#startMs.size || this.#waitingAgain > 0;
    if (everyMs === undefined || this.#isPassPlanned || !isWaiting || this.#events.size === 0) return;
    this.#isPassPlanned = true;
    this.#events.push(nowMs + everyMs, { kind: 'pass' });
  }
}

/** A run that holds nodes. */
interface ActiveRun {
  readonly started: StartedJob;
  readonly startMs: number;
  /** Training that it has to do, on all pods of the job. */
  readonly workMs: number;
  /** Until its first step. A first start is part of the job's run time. */
  readonly delayMs: number;
  /** Its pods as a part of all pods of the job. */
  readonly pace: number;
  readonly run: number;
}
