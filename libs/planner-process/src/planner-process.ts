import { DomainError } from '@coxswain/domain-error';
import { FairQueue } from './fair-queue.ts';
import { startError, stoppingError, QueueRefusedError, timeoutError } from './planner-errors.ts';
import type { PlannerAnswer, PlannerQuestion, PlannerReply } from './planner-question.ts';
import { SearchProcess } from './search-process.ts';

/** Limits of a {@link PlannerProcess}. */
export interface PlannerLimits {
  /** Time limit of a search, without the start of its process. Infinity: no limit. */
  readonly timeoutMs: number;
  /**
   * Heap limit of the process, which uses at most 128 MiB besides (`search-process.ts`). Infinity: no limit. A search for 16,384 GPUs needs less than 300 MiB
   * in all.
   */
  readonly heapMib: number;
  /** Largest number of queued questions of one tenant. */
  readonly waitingPerTenant: number;
  /** Largest number of queued questions of all tenants. */
  readonly waiting: number;
}

const DEFAULT_LIMITS: PlannerLimits = { timeoutMs: 30_000, heapMib: 384, waitingPerTenant: 16, waiting: 256 };
const SEARCH = new URL('./search.ts', import.meta.url);
/** Time limit for the start of a process, which usually takes a second. */
const START_MS = 60_000;

/** Calls `fire` once after `delayMs`; the returned function cancels. */
export type SetTimer = (delayMs: number, fire: () => void) => () => void;

/** Options of {@link PlannerProcess}. */
export interface PlannerProcessOptions {
  readonly limits?: Partial<PlannerLimits>;
  /** Replaces the planner in tests. */
  readonly program?: URL;
  readonly setTimer?: SetTimer;
}

/** Options of a question. */
export interface AskOptions {
  /** The tenant that asks; tenants are served in turn. */
  readonly tenant: string;
  /** Cancels the question, queued or running. */
  readonly signal?: AbortSignal;
  /** A time limit of this question that is shorter than that of others; asked when its search begins. */
  readonly timeoutMs?: () => number;
}

/** Current number of questions. */
export interface PlannerLoad {
  readonly waiting: number;
  readonly running: number;
}

/** A question with its pending reply. */
interface Turn extends PromiseWithResolvers<PlannerReply> {
  readonly question: PlannerQuestion;
  readonly tenant: string;
  readonly timeoutMs: () => number;
}

/**
 * Searches layouts in a separate process, so that searches do not block this one. Questions run one after another, tenants in turn, each within limits of time
 * and memory.
 *
 * The first question starts the process. It is replaced if a search exceeds a limit, if a running question is cancelled, or if the process fails; only the
 * running question is lost. There is never more than one process.
 */
export class PlannerProcess {
  readonly #limits: PlannerLimits;
  readonly #program: URL;
  readonly #setTimer: SetTimer;
  readonly #queue: FairQueue<Turn>;
  #process: SearchProcess | undefined;
  /** Whether the process has reported that it is ready. */
  #isReady = false;
  #current: { readonly turn: Turn; cancelTimer: () => void } | undefined;
  /** Resolves when the previous process has ended. */
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
   * Asks the planner. Rejects with the planner's {@link DomainError} if it rejects the question, with {@link QueueRefusedError} if the queue is full, with
   * UNAVAILABLE after `close`, with OVER_BUDGET, or with the reason of the signal.
   */
  async ask<Question extends PlannerQuestion>(
    question: Question,
    { tenant, signal, timeoutMs = () => Infinity }: AskOptions,
  ): Promise<PlannerAnswer<Question['kind']>> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw stoppingError();
    const turn: Turn = { question, tenant, timeoutMs, ...Promise.withResolvers<PlannerReply>() };
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

  /** Ends the process and rejects open questions with UNAVAILABLE. */
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
      // A question that cannot be sent fails alone.
      this.#fail(turn, error);
    }
  }

  /** Starts the time limit of a search, which begins once the process is ready. */
  #startTimer(turn: Turn): () => void {
    const timeoutMs = Math.min(this.#limits.timeoutMs, turn.timeoutMs());
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

  /** Rejects a question. If it is running, its process is replaced. */
  #fail(turn: Turn, reason: unknown): void {
    turn.reject(reason);
    this.#queue.remove(turn.tenant, turn);
    if (this.#current?.turn !== turn) return;
    this.#finish();
    this.#dropProcess();
  }

  /** Marks the running question as done. */
  #finish(): void {
    this.#current?.cancelTimer();
    this.#current = undefined;
  }

  /** Ends the process. The next search starts afterwards, so that two processes never use memory at once. */
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
