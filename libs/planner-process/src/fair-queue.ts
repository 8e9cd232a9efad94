/** Limits of a {@link FairQueue}. */
export interface QueueLimits {
  /** Most items of one tenant. */
  readonly perTenant: number;
  /** Most items of all tenants together. */
  readonly inAll: number;
}

/** Why an item was not added. */
export type QueueRefusal = 'tenantIsFull' | 'isFull';

/** The result of adding an item. `displaced` is an item that was removed to make room: the newest of the tenant with most items. */
export type QueueAdmission<T> =
  { readonly kind: 'waits'; readonly displaced?: T } | { readonly kind: 'refused'; readonly refusal: QueueRefusal };

/**
 * A queue with a list for each tenant. The tenant that was served longest ago is served next. If the queue is full, the tenant with most items loses its newest.
 *
 * While an item of a tenant waits, no other tenant is served twice: a tenant with a hundred items delays another tenant by one item only.
 * A full queue still accepts a tenant with few items: the tenant with most items loses one.
 */
export class FairQueue<T> {
  readonly #limits: QueueLimits;
  /** Never holds an empty list. */
  readonly #waiting = new Map<string, T[]>();
  /** The turn in which each tenant was last served. Absent: before all waiting tenants. */
  readonly #lastTurn = new Map<string, number>();
  #turn = 0;
  #size = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds an item, or returns why it cannot be added. */
  add(tenant: string, item: T): QueueAdmission<T> {
    const { perTenant, inAll } = this.#limits;
    const list = this.#waiting.get(tenant) ?? [];
    if (list.length >= perTenant) return { kind: 'refused', refusal: 'tenantIsFull' };
    const displaced = this.#size < inAll ? undefined : this.#evictNewestOfLargest(list.length + 1);
    if (this.#size >= inAll) return { kind: 'refused', refusal: 'isFull' };
    this.#waiting.set(tenant, [...list, item]);
    this.#size += 1;
    return { kind: 'waits', ...(displaced === undefined ? {} : { displaced }) };
  }

  /** Removes and returns the next item; undefined if the queue is empty. */
  take(): T | undefined {
    const tenant = this.#nextTenant();
    const [item] = tenant === undefined ? [] : (this.#waiting.get(tenant) ?? []);
    if (tenant === undefined || item === undefined) return undefined;
    this.remove(tenant, item);
    this.#turn += 1;
    this.#lastTurn.set(tenant, this.#turn);
    this.#pruneServedTurns();
    return item;
  }

  /** Removes an item if it is in the queue. */
  remove(tenant: string, item: T): void {
    const list = this.#waiting.get(tenant) ?? [];
    const left = list.filter((one) => one !== item);
    if (left.length === 0) this.#waiting.delete(tenant);
    else this.#waiting.set(tenant, left);
    this.#size -= list.length - left.length;
  }

  /** Removes the newest item of the tenant with most items, if these are more than `moreThan`. */
  #evictNewestOfLargest(moreThan: number): T | undefined {
    const [largest] = [...this.#waiting].toSorted(([, one], [, other]) => other.length - one.length);
    const newest = largest?.[1].at(-1);
    if (largest === undefined || newest === undefined || largest[1].length <= moreThan) return undefined;
    this.remove(largest[0], newest);
    return newest;
  }

  #nextTenant(): string | undefined {
    const [first] = [...this.#waiting.keys()].toSorted((one, other) => this.#turnOf(one) - this.#turnOf(other));
    return first;
  }

  #turnOf(tenant: string): number {
    return this.#lastTurn.get(tenant) ?? 0;
  }

  /**
   * Forgets tenants that were served before all waiting tenants; they would be next in any case. The tenant served last is kept, because its item is still in
   * progress.
   */
  #pruneServedTurns(): void {
    const oldest = Math.min(...[...this.#waiting.keys()].map((tenant) => this.#turnOf(tenant)));
    for (const [tenant, turn] of this.#lastTurn) if (turn < oldest && turn < this.#turn) this.#lastTurn.delete(tenant);
  }
}
