import { type NoTurn, type PlaceBounds, TurnGate } from '@coxswain/units';
import { PoolBusyError } from './errors.ts';
import { NO_PRINCIPAL, type Scope } from './scope.ts';

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

/** Work about one project counts for the project, and other work for the principal. */
export function claimOf({ principalId, reach }: Pick<Scope, 'principalId' | 'reach'>, work: Work): PoolClaim {
  const [only, ...others] = reach.kind === 'projects' ? reach.ids : [];
  const tenant = only !== undefined && others.length === 0 ? only : principalId;
  // Without a principal, projects do not share the places of a principal.
  const principal = principalId === NO_PRINCIPAL ? tenant : principalId;
  return work === 'system' ? ofSystem(tenant) : { tenant, principal, work };
}

/** Work of the API itself, by its purpose. */
export function ofSystem(purpose: string): PoolClaim {
  return { tenant: purpose, principal: purpose, work: 'system' };
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

/** Shares the connections of a pool: those of tenants, and the reserved ones. {@link TurnGate} has the turns. */
export class PoolGate {
  readonly #tenants: TurnGate;
  readonly #system: TurnGate;

  constructor(connections: number, { waitMs = POOL_WAIT_MS, onRejected = () => undefined }: GateOptions = {}) {
    const bounds = poolBounds(connections);
    const busy = (why: NoTurn): PoolBusyError => {
      onRejected();
      return busyError(why, waitMs);
    };
    this.#tenants = new TurnGate({ bounds: bounds.tenants, waitMs, setTimer, busy });
    this.#system = new TurnGate({ bounds: bounds.system, waitMs, setTimer, busy });
  }

  /** Work of tenants that holds a connection, and that waits for one. */
  get load(): { readonly held: number; readonly waiting: number } {
    return this.#tenants.load;
  }

  /** Runs `run` when it has its turn. Rejects with {@link PoolBusyError} if that takes too long or too many wait. */
  pass<T>({ tenant, principal, work }: PoolClaim, run: () => Promise<T>): Promise<T> {
    const gate = work === 'system' ? this.#system : this.#tenants;
    return gate.pass({ tenant, member: principal, isSlow: work === 'list' }, run);
  }
}

/** Bounds for programs that share so many connections by their purposes: one purpose leaves two to the others, if there are more than three. */
export function purposeBounds(connections: number): PlaceBounds {
  const ofPurpose = Math.max(Math.min(connections, 2), connections - 2);
  return {
    places: connections,
    ofTenant: ofPurpose,
    ofMember: ofPurpose,
    slow: 0,
    slowOfTenant: 0,
    waiting: 5_000,
    waitingOfTenant: 2_000,
    quickInARow: 0,
  };
}

/** The gate of such programs. */
export function gateOfPurposes(connections: number, { waitMs = POOL_WAIT_MS, onRejected }: GateOptions): TurnGate {
  const busy = (why: NoTurn): PoolBusyError => {
    onRejected?.();
    return busyError(why, waitMs);
  };
  return new TurnGate({ bounds: purposeBounds(connections), waitMs, setTimer, busy });
}

/** The process may end while work waits. */
function setTimer(delayMs: number, fire: () => void): () => void {
  const timer = setTimeout(fire, delayMs).unref();
  return () => clearTimeout(timer);
}

function busyError(why: NoTurn, waitMs: number): PoolBusyError {
  const messages: Readonly<Record<NoTurn, string>> = {
    tenantIsFull: 'too many requests of this project wait for the database',
    isFull: 'too many requests wait for the database',
    late: `no connection to the database became free within ${waitMs / 1_000} s`,
    gone: 'the request ended while it waited for the database',
  };
  return new PoolBusyError(messages[why], RETRY_SECONDS);
}

/** Statements take milliseconds, so the queue is short again soon. */
const RETRY_SECONDS = 2;
