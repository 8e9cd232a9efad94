import { DomainError } from '@coxswain/domain-error';
import { FairQueue } from './fair-queue.ts';
import { startError, stoppingError, QueueRefusedError, timeoutError } from './planner-errors.ts';
import type { PlannerAnswer, PlannerQuestion, PlannerReply } from './planner-question.ts';
import { SearchProcess } from './search-process.ts';

/** Bounds of what may be asked. */
export interface PlannerLimits {
  /** Longest search, without the start of its process; it is ended after it. Infinity: as long as it takes. */
  readonly timeoutMs: number;
  /**
   * Heap of the process, which holds at most 128 MiB beside it (`search-process.ts`). Infinity: what the machine has. A search of 16,384 GPUs
   * takes under 300 MiB in all.
   */
  readonly heapMib: number;
  /** Most questions of one tenant that wait for their turn. */
  readonly waitingPerTenant: number;
  /** Most questions of all tenants that wait. */
  readonly waiting: number;
}

const DEFAULT_LIMITS: PlannerLimits = { timeoutMs: 30_000, heapMib: 384, waitingPerTenant: 16, waiting: 256 };
const SEARCH = new URL('./search.ts', import.meta.url);
/** A process starts in a second; one that does not start at all must not hold the queue for ever. */
const START_MS = 60_000;

/** Calls `fire` once after `delayMs`; the returned function cancels. */
export type SetTimer = (delayMs: number, fire: () => void) => () => void;

export interface PlannerProcessOptions {
  readonly limits?: Partial<PlannerLimits>;
  /** Stands in for the planner in tests. */
  readonly program?: URL;
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
 * Searches layouts in a process of its own, so that this one goes on with its work whatever a search takes: one question after another, each within
 * a budget of time and memory, tenants in turn.
 *
 * The process is started by the first question. It is replaced when a search is over its budget, when nobody wants the answer any more, or
 * when it dies: only the question that it worked on is lost. There is never more than one.
 */
export class PlannerProcess {
  readonly #limits: PlannerLimits;
  readonly #program: URL;
  readonly #setTimer: SetTimer;
  readonly #queue: FairQueue<Turn>;
  #process: SearchProcess | undefined;
  /** The process has said that it waits for questions. */
  #isReady = false;
  #current: { readonly turn: Turn; cancelTimer: () => void } | undefined;
  /** The process before, while it ends. */
  #ending: Promise<void> | undefined;
  #isClosed = false;

  constructor({ limits, program = SEARCH, setTimer = setSystemTimer }: PlannerProcessOptions = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#program = program;
    this.#setTimer = setTimer;
    this.#queue = new FairQueue({ perTenant: this.#limits.waitingPerTenant, inAll: this.#limits.waiting });
  }

  get load(): PlannerLoad {
    return { waiting: this.#queue.size, running: this.#current === undefined ? 0 : 1 };
  }

  /**
   * What the planner answers. Rejects with a {@link DomainError} in the planner's words where it refuses, with a {@link QueueRefusedError} when
   * too many questions wait, with UNAVAILABLE when this is closed, with OVER_BUDGET, or with the signal's reason.
   */
  async ask<Question extends PlannerQuestion>(
    question: Question,
    { tenant, signal }: AskOptions,
  ): Promise<PlannerAnswer<Question['kind']>> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw stoppingError();
    const turn: Turn = { question, tenant, ...Promise.withResolvers<PlannerReply>() };
    const added = this.#queue.add(tenant, turn);
    if (added.kind === 'refused') throw new QueueRefusedError(added.refusal);
    added.displaced?.reject(new QueueRefusedError('displaced'));
    const abandon = (): void => this.#fail(turn, signal?.reason);
    signal?.addEventListener('abort', abandon, { once: true });
    this.#next();
    try {
      const reply = await turn.promise;
      // The process answers a question with an answer of its kind.
      if (reply.kind === 'answered') return reply.answer as PlannerAnswer<Question['kind']>;
      throw new DomainError(reply.code, reply.message, reply.violations);
    } finally {
      signal?.removeEventListener('abort', abandon);
    }
  }

  /** Ends the process; whoever waits is told that it is unavailable. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (let turn = this.#queue.take(); turn !== undefined; turn = this.#queue.take()) turn.reject(stoppingError());
    this.#current?.turn.reject(stoppingError());
    this.#finish();
    this.#dropProcess();
    await this.#ending;
  }

  #next(): void {
    if (this.#current !== undefined || this.#ending !== undefined || this.#isClosed) return;
    const turn = this.#queue.take();
    if (turn === undefined) return;
    this.#current = { turn, cancelTimer: this.#startTimer(turn) };
    try {
      this.#process ??= this.#startProcess();
      this.#process.ask(turn.question);
    } catch (error) {
      // What cannot be sent to a process hurts whoever asked, and nobody else.
      this.#fail(turn, error);
    }
  }

  /** The budget is that of the search: it begins when the process is there to search. */
  #startTimer(turn: Turn): () => void {
    const { timeoutMs } = this.#limits;
    if (timeoutMs === Infinity) return () => undefined;
    if (!this.#isReady) return this.#setTimer(START_MS, () => this.#fail(turn, startError(START_MS)));
    return this.#setTimer(timeoutMs, () => this.#fail(turn, timeoutError(timeoutMs)));
  }

  #onReady(): void {
    this.#isReady = true;
    if (this.#current === undefined) return;
    this.#current.cancelTimer();
    this.#current.cancelTimer = this.#startTimer(this.#current.turn);
  }

  /** The question gets no answer. Where it is the one that is searched, the process is of no more use. */
  #fail(turn: Turn, reason: unknown): void {
    turn.reject(reason);
    this.#queue.remove(turn.tenant, turn);
    if (this.#current?.turn !== turn) return;
    this.#finish();
    this.#dropProcess();
  }

  /** Nothing is searched any more. */
  #finish(): void {
    this.#current?.cancelTimer();
    this.#current = undefined;
  }

  /** The next search starts when this process has ended, so that two never hold memory at once. */
  #dropProcess(): void {
    const dropped = this.#process;
    if (dropped === undefined) return this.#next();
    this.#process = undefined;
    this.#isReady = false;
    this.#ending = dropped.end().finally(() => {
      this.#ending = undefined;
      this.#next();
    });
  }

  #startProcess(): SearchProcess {
    return new SearchProcess({
      program: this.#program,
      heapMib: this.#limits.heapMib,
      onReady: () => this.#onReady(),
      onReply: (reply) => {
        this.#current?.turn.resolve(reply);
        this.#finish();
        this.#next();
      },
      onExit: (reason) => {
        this.#current?.turn.reject(reason);
        this.#finish();
        this.#dropProcess();
      },
    });
  }
}

function setSystemTimer(delayMs: number, fire: () => void): () => void {
  const timer = setTimeout(fire, delayMs);
  return () => clearTimeout(timer);
}
