import type { Fault, FaultAction, FaultMatch, SeenRequest } from './faults.ts';

/** A fault in force. */
export interface ActiveFault {
  /** Requests struck so far. */
  readonly hits: number;
  remove(): void;
}

/** The faults in force, in the order in which they were added. */
export class ActiveFaults {
  readonly #random: () => number;
  #faults: { readonly fault: Fault; hits: number }[] = [];

  /** `seed` is that of `probability`. */
  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  add(fault: Fault): ActiveFault {
    const active = { fault, hits: 0 };
    this.#faults.push(active);
    return {
      get hits() {
        return active.hits;
      },
      remove: () => {
        this.#faults = this.#faults.filter((other) => other !== active);
      },
    };
  }

  clear(): void {
    this.#faults = [];
  }

  /** What happens to a request: the action of the earliest added fault that matches it, which counts as a hit. */
  strike(seen: SeenRequest): FaultAction | undefined {
    for (const active of this.#faults) {
      const { match = {}, action } = active.fault;
      if (action.kind === 'watch' && seen.verb !== 'watch') continue;
      if (!matches(match, seen)) continue;
      if (match.times !== undefined && active.hits >= match.times) continue;
      if (match.probability !== undefined && this.#random() >= match.probability) continue;
      active.hits += 1;
      return action;
    }
    return undefined;
  }
}

function matches({ verbs, path, where }: FaultMatch, seen: SeenRequest): boolean {
  if (verbs !== undefined && !verbs.includes(seen.verb)) return false;
  if (typeof path === 'string' && path !== seen.path) return false;
  if (path instanceof RegExp && !path.test(seen.path)) return false;
  return where === undefined || where(seen);
}

/** mulberry32. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
