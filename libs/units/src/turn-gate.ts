import { type Claim, type PlaceBounds, SharedPlaces } from './shared-places.ts';

/** Why work got no turn. `late`: it waited as long as it may. `gone`: its signal aborted while it waited. */
export type NoTurn = 'tenantIsFull' | 'isFull' | 'late' | 'gone';

/** What a {@link TurnGate} needs. */
export interface TurnGateOptions {
  readonly bounds: PlaceBounds;
  /** Longest wait for a place, in milliseconds. */
  readonly waitMs: number;
  /** Calls `fire` once after the delay; the returned function cancels. */
  readonly setTimer: (delayMs: number, fire: () => void) => () => void;
  /** The error of work that got no turn. */
  readonly busy: (why: NoTurn) => Error;
}

interface Waiting extends Claim {
  readonly granted: PromiseWithResolvers<void>;
}

/**
 * Runs work in turns of tenants. {@link SharedPlaces} decides whose turn it is; here work waits for its place, and gives it back when it has ended. This is the one
 * place where work waits for a turn: connections, calls, collections and answers use it.
 */
export class TurnGate {
  readonly #places: SharedPlaces<Waiting>;
  readonly #options: TurnGateOptions;

  constructor(options: TurnGateOptions) {
    this.#places = new SharedPlaces(options.bounds);
    this.#options = options;
  }

  /** How much work holds a place, and how much waits. */
  get load(): { readonly held: number; readonly waiting: number } {
    return this.#places.load;
  }

  /** Runs `work` at once if there is a place for the claim. Undefined if there is none. */
  passNow<T>(claim: Claim, work: () => Promise<T>): Promise<T> | undefined {
    const holder = waitingOf(claim);
    return this.#places.take(holder) ? this.#run(holder, work) : undefined;
  }

  /** Runs `work` when it has its turn. Rejects with {@link TurnGateOptions.busy} if that does not come. A signal ends the wait, and not the work. */
  pass<T>(claim: Claim, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { busy } = this.#options;
    // A signal that has aborted fires no event any more.
    if (signal?.aborted === true) return Promise.reject(busy('gone'));
    const waiting = waitingOf(claim);
    const answer = this.#places.request(waiting);
    if (answer.kind === 'holds') return this.#run(waiting, work);
    if (answer.kind === 'rejected') return Promise.reject(busy(answer.why));
    answer.displaced?.granted.reject(busy('tenantIsFull'));
    return this.#turnOf(waiting, signal).then(() => this.#run(waiting, work));
  }

  #turnOf(waiting: Waiting, signal: AbortSignal | undefined): Promise<void> {
    const leave = (why: NoTurn): void => {
      this.#places.withdraw(waiting);
      waiting.granted.reject(this.#options.busy(why));
    };
    const onGone = (): void => leave('gone');
    const cancel = this.#options.setTimer(this.#options.waitMs, () => leave('late'));
    signal?.addEventListener('abort', onGone, { once: true });
    return waiting.granted.promise.finally(() => {
      cancel();
      signal?.removeEventListener('abort', onGone);
    });
  }

  #run<T>(holder: Waiting, work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve) => resolve(work())).finally(() => {
      for (const next of this.#places.release(holder)) next.granted.resolve();
    });
  }
}

/** A claim of its own: the same claim may be made twice. */
function waitingOf({ tenant, member, isSlow }: Claim): Waiting {
  return { tenant, member, isSlow, granted: Promise.withResolvers() };
}
