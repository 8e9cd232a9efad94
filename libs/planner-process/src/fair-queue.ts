/** Bounds of what may wait. */
export interface QueueLimits {
  /** Most items of one tenant. */
  readonly perTenant: number;
  /** Most items of all tenants together. */
  readonly inAll: number;
}

/** Why an item may not wait. */
export type QueueRefusal = 'tenantIsFull' | 'isFull';

/** What became of an item that wanted to wait. `displaced` waits no longer: it was the newest of the tenant that had most. */
export type QueueAdmission<T> =
  { readonly kind: 'waits'; readonly displaced?: T } | { readonly kind: 'refused'; readonly refusal: QueueRefusal };

/**
 * A waiting list per tenant; who was served longest ago is served next, and who has least waiting has room longest.
 *
 * While an item of a tenant waits, no other tenant is served twice: a tenant with a hundred items delays another's one by a single item, and a
 * tenant that comes back each time it was served does not push ahead of one that waits. However few tenants fill the queue, another one still gets
 * a place: the tenant with most items gives one of its own.
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

  /** The item whose turn it is, which waits no longer; undefined when none waits. */
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

  /** The item waits no longer; nothing happens where it does not wait. */
  remove(tenant: string, item: T): void {
    const list = this.#waiting.get(tenant) ?? [];
    const left = list.filter((one) => one !== item);
    if (left.length === 0) this.#waiting.delete(tenant);
    else this.#waiting.set(tenant, left);
    this.#size -= list.length - left.length;
  }

  /** Of a tenant that has more items waiting than so many: another's that has no more is owed its place. */
  #evictNewestOfLargest(moreThan: number): T | undefined {
    const [greediest] = [...this.#waiting].toSorted(([, one], [, other]) => other.length - one.length);
    const newest = greediest?.[1].at(-1);
    if (greediest === undefined || newest === undefined || greediest[1].length <= moreThan) return undefined;
    this.remove(greediest[0], newest);
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
   * Whoever was served before everybody who waits goes first whether or not that is remembered. Who was served last is remembered in any
   * case: its item is still under way when the next one comes.
   */
  #pruneServedTurns(): void {
    const oldest = Math.min(...[...this.#waiting.keys()].map((tenant) => this.#turnOf(tenant)));
    for (const [tenant, turn] of this.#lastTurn) if (turn < oldest && turn < this.#turn) this.#lastTurn.delete(tenant);
  }
}
