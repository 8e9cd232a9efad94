/** How does work wait for its turn at a few places, and no longer than a bound? */
import { type Claim, type PlaceBounds, SharedPlaces } from '@coxswain/units';

/** What a {@link TurnGate} is about. */
export interface TurnGateOptions {
  readonly bounds: PlaceBounds;
  /** Longest wait for a place. */
  readonly waitMs: number;
  /** What is thrown if that takes too long, or if too many wait. */
  readonly busy: () => Error;
}

interface Waiting extends Claim {
  readonly granted: PromiseWithResolvers<void>;
}

/** Lets work through in turns of tenants. {@link SharedPlaces} decides whose turn it is. */
export class TurnGate {
  readonly #places: SharedPlaces<Waiting>;
  readonly #options: TurnGateOptions;

  constructor(options: TurnGateOptions) {
    this.#places = new SharedPlaces(options.bounds);
    this.#options = options;
  }

  get load(): { readonly held: number; readonly waiting: number } {
    return this.#places.load;
  }

  /** Runs `work` when it has its turn. A signal ends the wait, and not the work. */
  async pass<T>(claim: Claim, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const waiting: Waiting = { ...claim, granted: Promise.withResolvers() };
    await this.#enter(waiting, signal);
    try {
      return await work();
    } finally {
      for (const next of this.#places.release(waiting)) next.granted.resolve();
    }
  }

  async #enter(waiting: Waiting, signal: AbortSignal | undefined): Promise<void> {
    const { busy, waitMs } = this.#options;
    // An aborted signal tells of no abort any more.
    if (signal?.aborted === true) throw busy();
    const answer = this.#places.request(waiting);
    if (answer.kind === 'holds') return;
    if (answer.kind === 'rejected') throw busy();
    answer.displaced?.granted.reject(busy());
    const leave = (): void => {
      this.#places.withdraw(waiting);
      waiting.granted.reject(busy());
    };
    const timer = setTimeout(leave, waitMs).unref();
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await waiting.granted.promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
    }
  }
}
