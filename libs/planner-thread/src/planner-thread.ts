import { Worker } from 'node:worker_threads';
import { DomainError } from '@coxswain/domain-error';
import { FairQueue, type QueueRefusal } from './fair-queue.ts';
import type { PlannerAnswer, PlannerQuestion, PlannerReady, PlannerReply } from './planner-question.ts';

/** Bounds of what may be asked. */
export interface PlannerLimits {
  /** Longest search, without the start of its thread; it is ended after it. Infinity: as long as it takes. */
  readonly timeoutMs: number;
  /** Heap of the thread. A search of 16,384 GPUs needs under 300 MB. */
  readonly heapMib: number;
  /** Most questions of one tenant that wait for their turn. */
  readonly waitingPerTenant: number;
  /** Most questions of all tenants that wait. */
  readonly waiting: number;
}

const DEFAULT_LIMITS: PlannerLimits = { timeoutMs: 30_000, heapMib: 512, waitingPerTenant: 16, waiting: 256 };
const WORKER = new URL('./worker.ts', import.meta.url);
/** A thread starts in a second; one that does not start at all must not hold the queue for ever. */
const START_MS = 60_000;

/** A search took more time or memory than it may. Asking again is of no use; a smaller question may be answered. */
export class OverBudgetError extends DomainError {
  constructor(message: string) {
    super('OVER_BUDGET', message);
    this.name = 'OverBudgetError';
  }
}

/** A question may not wait, or has waited and gave its place to a tenant with fewer (`displaced`). */
export class QueueRefusedError extends DomainError {
  readonly reason: QueueRefusal | 'displaced';

  constructor(reason: QueueRefusal | 'displaced') {
    super('UNAVAILABLE', REFUSALS[reason]);
    this.name = 'QueueRefusedError';
    this.reason = reason;
  }
}

/** Calls `fire` once after `delayMs`; the returned function cancels. */
export type SetTimer = (delayMs: number, fire: () => void) => () => void;

export interface PlannerThreadOptions {
  readonly limits?: Partial<PlannerLimits>;
  /** Stands in for the planner in tests. */
  readonly worker?: URL;
  readonly setTimer?: SetTimer;
}

export interface AskOptions {
  /** Who asks: each tenant gets its turn, however much the others ask. */
  readonly tenant: string;
  /** Nobody wants the answer any more: what waits is taken out, what is searched is ended. */
  readonly signal?: AbortSignal;
}

/** Questions at this moment. */
export interface PlannerLoad {
  readonly waiting: number;
  readonly running: number;
}

/** A question and what becomes of it. */
interface Turn extends PromiseWithResolvers<PlannerReply> {
  readonly question: PlannerQuestion;
  readonly tenant: string;
}

/**
 * Searches layouts in a thread of its own, so that the process goes on with its work: one question after another, each within a budget of time
 * and memory, tenants in turn.
 *
 * The thread is started by the first question. It is replaced when a search is over its budget, when nobody wants the answer any more, or
 * when it dies: only the question that it worked on is lost. There is never more than one.
 */
export class PlannerThread {
  readonly #limits: PlannerLimits;
  readonly #worker: URL;
  readonly #setTimer: SetTimer;
  readonly #queue: FairQueue<Turn>;
  #thread: Worker | undefined;
  /** The thread has said that it waits for questions. */
  #isReady = false;
  #current: { readonly turn: Turn; cancelTimer: () => void } | undefined;
  /** The thread before, while it ends. */
  #ending: Promise<unknown> | undefined;
  #isClosed = false;

  constructor({ limits, worker = WORKER, setTimer = setSystemTimer }: PlannerThreadOptions = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#worker = worker;
    this.#setTimer = setTimer;
    this.#queue = new FairQueue({ perTenant: this.#limits.waitingPerTenant, inAll: this.#limits.waiting });
  }

  get load(): PlannerLoad {
    return { waiting: this.#queue.size, running: this.#current === undefined ? 0 : 1 };
  }

  /**
   * What the planner answers. Rejects with a {@link DomainError} in the planner's words where it refuses, with a {@link QueueRefusedError} when
   * too many questions wait, with UNAVAILABLE when the thread is closed, with an {@link OverBudgetError}, or with the signal's reason.
   */
  async ask<Question extends PlannerQuestion>(
    question: Question,
    { tenant, signal }: AskOptions,
  ): Promise<PlannerAnswer<Question['kind']>> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw isStopping();
    const turn: Turn = { question, tenant, ...Promise.withResolvers<PlannerReply>() };
    const added = this.#queue.add(tenant, turn);
    if (added.kind === 'refused') throw new QueueRefusedError(added.refusal);
    added.displaced?.reject(new QueueRefusedError('displaced'));
    const abandon = (): void => this.#fail(turn, signal?.reason);
    signal?.addEventListener('abort', abandon, { once: true });
    this.#next();
    try {
      const reply = await turn.promise;
      // The thread answers a question with an answer of its kind.
      if (reply.kind === 'answered') return reply.answer as PlannerAnswer<Question['kind']>;
      throw new DomainError(reply.code, reply.message, reply.violations);
    } finally {
      signal?.removeEventListener('abort', abandon);
    }
  }

  /** Ends the thread; whoever waits is told that it is unavailable. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (let turn = this.#queue.take(); turn !== undefined; turn = this.#queue.take()) turn.reject(isStopping());
    this.#current?.turn.reject(isStopping());
    this.#finish();
    this.#dropThread();
    await this.#ending;
  }

  #next(): void {
    if (this.#current !== undefined || this.#ending !== undefined || this.#isClosed) return;
    const turn = this.#queue.take();
    if (turn === undefined) return;
    this.#thread ??= this.#startThread();
    this.#current = { turn, cancelTimer: this.#startTimer(turn) };
    try {
      this.#thread.postMessage(turn.question);
    } catch (error) {
      // What cannot be copied to a thread hurts whoever asked, and nobody else.
      this.#fail(turn, error);
    }
  }

  /** The budget is that of the search: it begins when the thread is there to search. */
  #startTimer(turn: Turn): () => void {
    const { timeoutMs } = this.#limits;
    if (timeoutMs === Infinity) return () => undefined;
    if (!this.#isReady) return this.#setTimer(START_MS, () => this.#fail(turn, didNotStart()));
    return this.#setTimer(timeoutMs, () => this.#fail(turn, tookTooLong(timeoutMs)));
  }

  #onReady(): void {
    this.#isReady = true;
    if (this.#current === undefined) return;
    this.#current.cancelTimer();
    this.#current.cancelTimer = this.#startTimer(this.#current.turn);
  }

  /** The question gets no answer. Where it is the one that is searched, the thread is of no more use. */
  #fail(turn: Turn, reason: unknown): void {
    turn.reject(reason);
    this.#queue.remove(turn.tenant, turn);
    if (this.#current?.turn !== turn) return;
    this.#finish();
    this.#dropThread();
  }

  /** Nothing is searched any more. */
  #finish(): void {
    this.#current?.cancelTimer();
    this.#current = undefined;
  }

  /** The next search starts when this thread has ended, so that two never hold memory at once. */
  #dropThread(): void {
    const thread = this.#thread;
    if (thread === undefined) return;
    this.#thread = undefined;
    this.#isReady = false;
    this.#ending = thread.terminate().finally(() => {
      this.#ending = undefined;
      this.#next();
    });
  }

  #startThread(): Worker {
    const { heapMib } = this.#limits;
    const thread = new Worker(this.#worker, {
      ...(heapMib === Infinity ? {} : { resourceLimits: { maxOldGenerationSizeMb: heapMib } }),
    });
    thread.on('message', (reply: PlannerReply | PlannerReady) => {
      if (this.#thread !== thread) return;
      if (reply.kind === 'ready') return this.#onReady();
      this.#current?.turn.resolve(reply);
      this.#finish();
      this.#next();
    });
    // Between two questions as well: without a listener a failure would end the process.
    thread.on('error', (error) => this.#onDeath(thread, causeOfDeath(error, heapMib)));
    thread.on('exit', () => this.#onDeath(thread, new Error('the thread of the planner ended by itself')));
    return thread;
  }

  #onDeath(thread: Worker, reason: Error): void {
    if (this.#thread !== thread) return;
    this.#current?.turn.reject(reason);
    this.#finish();
    this.#dropThread();
  }
}

const REFUSALS: Readonly<Record<QueueRefusedError['reason'], string>> = {
  tenantIsFull: 'too many of your questions wait for the planner; try again when one of them is answered',
  displaced:
    'too many questions wait for the planner, most of them yours, and your newest gave its place to another’s; try again when one of them is answered',
  isFull: 'the planner has more to do than it can; try again in some seconds',
};

/** What makes a search smaller, for whoever asks in whatever way. */
const NARROWER =
  'Narrow the question: pin axes that are decided (pinned), allow fewer schedules (allow), or ask for fewer GPUs';

function isStopping(): DomainError {
  return new DomainError('UNAVAILABLE', 'the planner is stopping; try again in a second');
}

function didNotStart(): Error {
  return new Error(`the thread of the planner did not start within ${START_MS / 1000} s`);
}

function tookTooLong(timeoutMs: number): OverBudgetError {
  return new OverBudgetError(
    `the search took longer than ${timeoutMs / 1000} s, which is its budget, and was ended. ${NARROWER}`,
  );
}

function causeOfDeath(error: unknown, heapMib: number): Error {
  const isOutOfMemory =
    typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  return isOutOfMemory
    ? new OverBudgetError(
        `the search needed more memory than ${heapMib} MiB, which is its budget, and was ended. ${NARROWER}`,
      )
    : new Error('the search failed', { cause: error });
}

function setSystemTimer(delayMs: number, fire: () => void): () => void {
  const timer = setTimeout(fire, delayMs);
  return () => clearTimeout(timer);
}
