import { type Claim, type PlaceBounds, SharedPlaces } from '@coxswain/units';
import { PoolBusyError } from './errors.ts';

/**
 * What a transaction does: reads a few rows by key, changes rows, or reads lists and totals. `system`: work of the API itself that answers no single request, such as
 * looking up a token.
 */
export type Work = 'key' | 'change' | 'list' | 'system';

/** Who wants a connection, and for what. */
export interface PoolClaim {
  /** A project; the principal if a request is about several projects or all. For `system`: the purpose. */
  readonly tenant: string;
  readonly principal: string;
  readonly work: Work;
}

/** Most milliseconds of one statement. The server ends a longer one. */
export const STATEMENT_BUDGET_MS: Readonly<Record<Work, number>> = {
  key: 3_000,
  change: 5_000,
  list: 5_000,
  system: 5_000,
};

/** How long a request waits for a connection. After that it is better to say so than to answer late. */
export const POOL_WAIT_MS = 5_000;

/** Bounds for a pool of so many connections: those of tenants, and the reserved ones of `system`. */
export function poolBounds(connections: number): { readonly tenants: PlaceBounds; readonly system: PlaceBounds } {
  const reserved = Math.max(1, Math.floor(connections * 0.3));
  const places = Math.max(1, connections - reserved);
  const ofTenant = Math.ceil(places / 2);
  const slow = Math.max(1, Math.floor(places * 0.6));
  const ofPurpose = Math.max(1, reserved - 1);
  return {
    tenants: {
      places,
      ofTenant,
      ofMember: Math.max(1, ofTenant - 1),
      slow,
      slowOfTenant: Math.max(1, Math.floor(ofTenant / 2)),
      waiting: 500,
      waitingOfTenant: 100,
      quickInARow: 4,
    },
    system: {
      places: reserved,
      ofTenant: ofPurpose,
      ofMember: ofPurpose,
      slow: 0,
      slowOfTenant: 0,
      waiting: 2_000,
      waitingOfTenant: 1_000,
      quickInARow: 4,
    },
  };
}

export interface GateOptions {
  /** Default {@link POOL_WAIT_MS}. */
  readonly waitMs?: number;
  /** Work got no connection in time. */
  readonly onRejected?: () => void;
}

interface Waiting extends Claim {
  readonly granted: PromiseWithResolvers<void>;
}

/** Lets work through to the pool in its turn. {@link SharedPlaces} decides whose turn it is; here the others wait, and no longer than a bound. */
export class PoolGate {
  readonly #tenants: SharedPlaces<Waiting>;
  readonly #system: SharedPlaces<Waiting>;
  readonly #waitMs: number;
  readonly #onRejected: () => void;

  constructor(connections: number, { waitMs = POOL_WAIT_MS, onRejected = () => undefined }: GateOptions = {}) {
    const bounds = poolBounds(connections);
    this.#tenants = new SharedPlaces(bounds.tenants);
    this.#system = new SharedPlaces(bounds.system);
    this.#waitMs = waitMs;
    this.#onRejected = onRejected;
  }

  /** Work of tenants that holds a connection, and that waits for one. */
  get load(): { readonly held: number; readonly waiting: number } {
    return this.#tenants.load;
  }

  /** Runs `work` when it has its turn. Rejects with {@link PoolBusyError} if that takes too long or too many wait. */
  async pass<T>({ tenant, principal, work }: PoolClaim, run: () => Promise<T>): Promise<T> {
    const places = work === 'system' ? this.#system : this.#tenants;
    const claim: Waiting = {
      tenant,
      member: principal,
      isSlow: work === 'list',
      granted: Promise.withResolvers(),
    };
    await this.#enter(places, claim);
    try {
      return await run();
    } finally {
      for (const next of places.release(claim)) next.granted.resolve();
    }
  }

  async #enter(places: SharedPlaces<Waiting>, claim: Waiting): Promise<void> {
    const answer = places.request(claim);
    if (answer.kind === 'holds') return;
    if (answer.kind === 'rejected') throw this.#busy(answer.why === 'tenantIsFull' ? TENANT_IS_FULL : POOL_IS_FULL);
    answer.displaced?.granted.reject(this.#busy(TENANT_IS_FULL));
    const timer = setTimeout(() => {
      places.withdraw(claim);
      claim.granted.reject(this.#busy(`no connection to the database became free within ${this.#waitMs / 1_000} s`));
    }, this.#waitMs).unref();
    try {
      await claim.granted.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #busy(message: string): PoolBusyError {
    this.#onRejected();
    return new PoolBusyError(message, RETRY_SECONDS);
  }
}

const TENANT_IS_FULL = 'too many requests of this project wait for the database';
const POOL_IS_FULL = 'too many requests wait for the database';
/** Statements take milliseconds, so the queue is short again soon. */
const RETRY_SECONDS = 2;
