/** Bounds of what may wait. */
export interface QueueLimits {
  /** Most items of one tenant. */
  readonly perTenant: number;
  /** Most items of all tenants together. */
  readonly inAll: number;
}

/** Why an item may not wait. */
export type QueueRefusal = 'tenantIsFull' | 'isFull';

/**
 * A waiting list per tenant; who was served longest ago is served next.
 *
 * While an item of a tenant waits, no other tenant is served twice: a tenant with a hundred items delays another's one by a single item, and a
 * tenant that comes back each time it was served does not push ahead of one that waits.
 */
export class FairQueue<T> {
  readonly #limits: QueueLimits;
  /** Never holds an empty list. */
  readonly #waiting = new Map<string, T[]>();
  /** In which turn each tenant was last served; absent: longer ago than everybody who waits. */
  readonly #lastTurn = new Map<string, number>();
  #turn = 0;
  #size = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** Lets the item wait; says why where it may not. */
  add(tenant: string, item: T): QueueRefusal | undefined {
    const list = this.#waiting.get(tenant) ?? [];
    if (list.length >= this.#limits.perTenant) return 'tenantIsFull';
    if (this.#size >= this.#limits.inAll) return 'isFull';
    this.#waiting.set(tenant, [...list, item]);
    this.#size += 1;
    return undefined;
  }

  /** The item whose turn it is, which waits no longer; undefined when none waits. */
  take(): T | undefined {
    const tenant = this.#nextTenant();
    const [item] = tenant === undefined ? [] : (this.#waiting.get(tenant) ?? []);
    if (tenant === undefined || item === undefined) return undefined;
    this.remove(tenant, item);
    this.#turn += 1;
    this.#lastTurn.set(tenant, this.#turn);
    this.#forgetTheLongServed();
    return item;
  }

  /** The item waits no longer; nothing happens where it does not wait. */
  remove(tenant: string, item: T): void {
    const list = this.#waiting.get(tenant) ?? [];
    const left = list.filter((one) => one !== item);
    if (left.length === 0) this.#waiting.delete(tenant);
    else this.#waiting.set(tenant, left);
    this.#size -= list.length - left.length;
  }

  #nextTenant(): string | undefined {
    const [first] = [...this.#waiting.keys()].toSorted((one, other) => this.#turnOf(one) - this.#turnOf(other));
    return first;
  }

  #turnOf(tenant: string): number {
    return this.#lastTurn.get(tenant) ?? 0;
  }

  /**
   * Whoever was served before everybody who waits goes first whether or not that is remembered. Who was served last is remembered in any
   * case: its item is still under way when the next one comes.
   */
  #forgetTheLongServed(): void {
    const oldest = Math.min(...[...this.#waiting.keys()].map((tenant) => this.#turnOf(tenant)));
    for (const [tenant, turn] of this.#lastTurn) if (turn < oldest && turn < this.#turn) this.#lastTurn.delete(tenant);
  }
}
