import type { TrainingJob } from '@coxswain/api-types';
import type { Fabric } from '@coxswain/fabric';
import { type FoundNodes, type NodeSearch, nodeSearchKey } from '@coxswain/job-planning';
import { keyOf, type Clock } from '@coxswain/kube';
import type { NodeSearches as NodeSearchesView, ObservedNodeSearch } from '@coxswain/lifecycle';
import type { ClusterScheduler } from '@coxswain/scheduling';
import type { PlannerAnswer, PlannerQuestion } from '@coxswain/planner-process';

type Question = PlannerQuestion & { readonly kind: 'findNodes' };

/** Parts of {@link NodeSearches}. */
export interface NodeSearchesParts {
  /** Searches in another process. */
  readonly searcher: {
    ask(
      question: Question,
      options: { readonly tenant: string; readonly signal: AbortSignal },
    ): Promise<PlannerAnswer<'findNodes'>>;
  };
  readonly scheduler: Pick<ClusterScheduler, 'capacityFor' | 'standingRefusal' | 'hasPromise'>;
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Called when the search for the job of that key (`namespace/name`) has ended, which must be reconciled. */
  readonly onNews: (key: string) => void;
  /** A search found neither nodes nor that there are none; for the log. */
  readonly onFailure: (key: string, error: unknown) => void;
}

/** How long the turn is kept for a job with an unused result. Its reconcile starts within milliseconds and makes one or two API calls. */
export const ANSWER_KEPT_MS = 5_000;
/** Jobs that are refused in one turn of the event loop: each takes about 0.03 ms, and wakes a job. */
const REFUSED_IN_A_TURN = 200;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 300_000;

interface Asked {
  readonly job: TrainingJob;
  readonly search: NodeSearch;
  readonly key: string;
  readonly abort: AbortController;
  failures: number;
  cancelTimer?: () => void;
  state: 'waiting' | 'searching' | 'failed';
  answer?: { readonly found: FoundNodes; readonly searched: Fabric; readonly rises: number };
}

/**
 * Runs searches of nodes that would block the event loop in a separate process, one at a time, namespaces in turn. A job keeps its turn until its
 * result is reserved or kept as a refusal, so that the next search sees the cluster without those GPUs. Nothing here is recorded: a new process
 * searches again.
 */
export class NodeSearches implements NodeSearchesView {
  readonly #parts: NodeSearchesParts;
  /** By UID of the job, oldest question first. */
  readonly #asked = new Map<string, Asked>();
  /** The job that searches or has an unused result. */
  #turn: Asked | undefined;
  /** Set while the event loop has a turn in the middle of refusals. */
  #cancelRest: (() => void) | undefined;
  /** When each namespace of a job that waits here had its last turn, as a number that grows. */
  #servedAs: ReadonlyMap<string, number> = new Map();
  #servings = 0;
  #isClosed = false;

  constructor(parts: NodeSearchesParts) {
    this.#parts = parts;
  }

  /** Jobs that something is remembered for. */
  get size(): number {
    return this.#asked.size;
  }

  of(jobUid: string, search: NodeSearch): ObservedNodeSearch {
    const asked = this.#asked.get(jobUid);
    if (asked === undefined || asked.key !== nodeSearchKey(search)) return { kind: 'unasked' };
    return asked.answer === undefined ? { kind: 'searching' } : { kind: 'found', ...asked.answer };
  }

  /** Asks without waiting. Another search of the same job is ended; the same one goes on. If it has a result, that is of no use any more. */
  ask(job: TrainingJob, search: NodeSearch): void {
    const { uid } = job.metadata;
    const key = nodeSearchKey(search);
    const before = this.#asked.get(uid);
    if (this.#isClosed || (before?.key === key && before.answer === undefined)) return;
    this.#remove(uid);
    this.#asked.set(uid, { job, search, key, abort: new AbortController(), failures: 0, state: 'waiting' });
    this.#next();
  }

  /** Drops the result of a job after it was used or taken by others; the job searches again if it asks again. */
  end(jobUid: string): void {
    if (this.#asked.get(jobUid)?.answer !== undefined) this.forget(jobUid);
  }

  /** Ends the search of a deleted job and drops its result. */
  forget(jobUid: string): void {
    this.#remove(jobUid);
    this.#next();
  }

  /** Ends every search. */
  close(): void {
    this.#isClosed = true;
    this.#cancelRest?.();
    for (const uid of [...this.#asked.keys()]) this.#remove(uid);
  }

  #remove(jobUid: string): void {
    const asked = this.#asked.get(jobUid);
    if (asked === undefined) return;
    this.#asked.delete(jobUid);
    asked.abort.abort();
    asked.cancelTimer?.();
    if (this.#turn === asked) this.#turn = undefined;
  }

  /**
   * Skips jobs whose request was refused meanwhile for the same shape. Thousands may ask: their order is made once, and after some of them the event
   * loop gets a turn.
   */
  #next(): void {
    if (this.#cancelRest === undefined) this.#takeFirst(this.#inTurn());
  }

  #takeFirst(inOrder: readonly Asked[]): void {
    if (this.#turn !== undefined || this.#isClosed) return;
    const refused: Asked[] = [];
    for (const [index, asked] of inOrder.entries()) {
      const { uid } = asked.job.metadata;
      if (this.#asked.get(uid) !== asked || asked.state !== 'waiting') continue;
      if (this.#parts.scheduler.standingRefusal(uid, asked.search.request) === undefined) {
        void this.#search(asked);
        break;
      }
      this.#asked.delete(uid);
      refused.push(asked);
      if (refused.length < REFUSED_IN_A_TURN) continue;
      this.#rest(inOrder.slice(index + 1));
      break;
    }
    for (const { job } of refused) this.#parts.onNews(keyOf(job));
  }

  /** Goes on with these later, and then with those that have asked meanwhile. */
  #rest(inOrder: readonly Asked[]): void {
    this.#cancelRest = this.#parts.clock.setTimer(0, () => {
      this.#cancelRest = undefined;
      this.#takeFirst(inOrder);
      this.#next();
    });
  }

  #inTurn(): readonly Asked[] {
    const waiting = [...this.#asked.values()].filter(({ state }) => state === 'waiting');
    const namespaces = new Set(waiting.map(namespaceOf));
    this.#servedAs = new Map([...this.#servedAs].filter(([namespace]) => namespaces.has(namespace)));
    const lastTurn = (asked: Asked): number => this.#servedAs.get(namespaceOf(asked)) ?? 0;
    // Nodes are held for it and idle until it starts.
    const promised = waiting.find(({ job }) => this.#parts.scheduler.hasPromise(job.metadata.uid));
    const others = waiting.filter((asked) => asked !== promised);
    const inOrder = others.toSorted((one, other) => lastTurn(one) - lastTurn(other));
    return promised === undefined ? inOrder : [promised, ...inOrder];
  }

  async #search(asked: Asked): Promise<void> {
    const { job, search, abort } = asked;
    asked.state = 'searching';
    this.#turn = asked;
    this.#servedAs = new Map(this.#servedAs).set(namespaceOf(asked), (this.#servings += 1));
    const {
      version: _,
      rises,
      ...capacity
    } = this.#parts.scheduler.capacityFor(job.metadata.uid, search.request.demand);
    const options = { tenant: namespaceOf(asked), signal: abort.signal };
    try {
      const found = await this.#parts.searcher.ask({ kind: 'findNodes', search, capacity }, options);
      if (!abort.signal.aborted) this.#found(asked, { found, searched: capacity.fabric, rises });
    } catch (error) {
      if (!abort.signal.aborted) this.#failed(asked, error);
    }
  }

  #found(asked: Asked, answer: NonNullable<Asked['answer']>): void {
    const { job } = asked;
    asked.answer = answer;
    asked.cancelTimer = this.#parts.clock.setTimer(ANSWER_KEPT_MS, () => this.forget(job.metadata.uid));
    this.#parts.onNews(keyOf(job));
  }

  #failed(asked: Asked, error: unknown): void {
    const { job } = asked;
    this.#parts.onFailure(keyOf(job), error);
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** asked.failures, LONGEST_RETRY_MS);
    asked.failures += 1;
    asked.state = 'failed';
    asked.cancelTimer = this.#parts.clock.setTimer(delayMs, () => {
      asked.state = 'waiting';
      this.#next();
    });
    this.#turn = undefined;
    this.#next();
  }
}

function namespaceOf({ job }: Asked): string {
  return job.metadata.namespace ?? '';
}
