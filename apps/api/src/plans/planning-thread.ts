import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { DomainError, type DomainErrorCode, type Violation } from '@coxswain/domain-error';
import type { PlanAnswer, PlanRequest } from '@coxswain/planner/types';

export interface PlanningTask {
  readonly request: PlanRequest;
}

export type PlanningReply =
  | { readonly kind: 'answered'; readonly answer: PlanAnswer }
  | {
      readonly kind: 'refused';
      readonly code: DomainErrorCode;
      readonly message: string;
      readonly violations: readonly Violation[];
    };

/** Bounds of the searches that may be under way. */
export interface PlanningLimits {
  /** Longest search, with the start of the thread where it is the first; it is ended after it. */
  readonly timeoutMs: number;
  /** Most searches that wait for their turn. */
  readonly waiting: number;
  /** Heap of the thread. A search of 16,384 GPUs needs under 300 MB. */
  readonly heapMib: number;
}

const DEFAULT_LIMITS: PlanningLimits = { timeoutMs: 30_000, waiting: 16, heapMib: 512 };
/** Beside this file, as source or as built. */
const WORKER = new URL(`./plan-worker${extname(import.meta.url)}`, import.meta.url);

/**
 * Searches layouts in a thread of its own, one request after another. The thread is started by the first request, and replaced when it is
 * ended for taking too long or dies.
 */
export class PlanningThread {
  readonly #limits: PlanningLimits;
  readonly #worker: URL;
  #thread: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Threads of no more use, on their way out. */
  readonly #endings = new Set<Promise<unknown>>();
  #waiting = 0;
  #isClosed = false;

  constructor(options: { readonly limits?: Partial<PlanningLimits>; readonly worker?: URL } = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#worker = options.worker ?? WORKER;
  }

  /** UNAVAILABLE when too many wait, or when the search takes longer than it may; what the planner refuses is refused in its words. */
  async plan(request: PlanRequest): Promise<PlanAnswer> {
    if (this.#waiting > this.#limits.waiting || this.#isClosed) {
      throw new DomainError('UNAVAILABLE', 'the planner has more to do than it can; try again in some seconds');
    }
    this.#waiting += 1;
    const turn = this.#last.then(() => this.#run({ request }));
    this.#last = turn.catch(() => undefined);
    try {
      const reply = await turn;
      if (reply.kind === 'answered') return reply.answer;
      throw new DomainError(reply.code, reply.message, reply.violations);
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Ends the thread, and with it the search that is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#thread !== undefined) this.#drop(this.#thread);
    await Promise.all([this.#last, ...this.#endings]);
  }

  async #run(task: PlanningTask): Promise<PlanningReply> {
    if (this.#isClosed) throw new DomainError('UNAVAILABLE', 'the planner is stopping; try again in a second');
    const thread = (this.#thread ??= this.#start());
    const { timeoutMs } = this.#limits;
    const { promise, resolve, reject } = Promise.withResolvers<PlanningReply>();
    const failed = (error: unknown): void => reject(new Error('the search failed', { cause: error }));
    const ended = (): void =>
      reject(new DomainError('UNAVAILABLE', 'the search was ended early; try again in a second'));
    thread.on('message', resolve).on('error', failed).on('exit', ended);
    thread.postMessage(task);
    const tooLong = setTimeout(() => {
      const detail = `the search took longer than ${timeoutMs / 1000} s and was ended; pin some of the axes or ask for fewer GPUs`;
      reject(new DomainError('UNAVAILABLE', detail));
    }, timeoutMs);
    try {
      return await promise;
    } catch (error) {
      this.#drop(thread);
      throw error;
    } finally {
      clearTimeout(tooLong);
      thread.off('message', resolve).off('error', failed).off('exit', ended);
    }
  }

  /** The thread is of no use any more: the next request starts another. */
  #drop(thread: Worker): void {
    if (this.#thread === thread) this.#thread = undefined;
    const ending = thread.terminate().finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
  }

  #start(): Worker {
    const thread = new Worker(this.#worker, { resourceLimits: { maxOldGenerationSizeMb: this.#limits.heapMib } });
    // Between two requests as well: without a listener a failure would end the process.
    thread.on('error', () => this.#drop(thread));
    return thread;
  }
}
