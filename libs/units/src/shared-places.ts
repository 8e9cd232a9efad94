/** Whose request it is, and whether it is slow. A tenant is mostly a project; its members are the principals that ask. */
export interface Claim {
  readonly tenant: string;
  readonly member: string;
  /** Slow requests hold fewer places, and quick ones pass them. */
  readonly isSlow: boolean;
}

/** Bounds of {@link SharedPlaces}. */
export interface PlaceBounds {
  readonly places: number;
  /** Most places of one tenant. */
  readonly ofTenant: number;
  /** Most places of one member, over all tenants. */
  readonly ofMember: number;
  /** Most places that slow requests hold, in all and of one tenant. */
  readonly slow: number;
  readonly slowOfTenant: number;
  /** Most requests that wait, in all and of one tenant. */
  readonly waiting: number;
  readonly waitingOfTenant: number;
  /** So many quick requests in a row may pass a slow one that could have a place. */
  readonly quickInARow: number;
}

/** What became of a request. `displaced` waited, and gave its place in the queue to this one. */
export type PlaceAnswer<T> =
  | { readonly kind: 'holds' }
  | { readonly kind: 'waits'; readonly displaced?: T }
  | { readonly kind: 'rejected'; readonly why: 'tenantIsFull' | 'isFull' };

/**
 * A few places (connections, calls, processes) that many tenants share. Each tenant and each member holds a part of them at most. A place that becomes free goes
 * to a quick request before a slow one, then to the tenant that holds the fewest places, then to the tenant that was served longest ago; within a tenant the same
 * holds for members. If the queue is full, the tenant with the most waiting requests loses its newest one to a tenant with fewer.
 *
 * Pure: it knows no time, and the caller says when a place is free or a request no longer waits.
 */
export class SharedPlaces<T extends Claim> {
  readonly #bounds: PlaceBounds;
  /** Requests of each tenant in their order; never an empty list. */
  readonly #waiting = new Map<string, T[]>();
  #size = 0;
  readonly #held = new Set<T>();
  readonly #tenants = new Holders();
  readonly #members = new Holders();
  readonly #slow = new Holders();
  #turn = 0;
  #quickInARow = 0;

  constructor(bounds: PlaceBounds) {
    this.#bounds = bounds;
  }

  /** How many requests hold a place, and how many wait. */
  get load(): { readonly held: number; readonly waiting: number } {
    return { held: this.#held.size, waiting: this.#size };
  }

  /** Places that a tenant holds. */
  heldBy(tenant: string): number {
    return this.#tenants.count(tenant);
  }

  /** Takes a place if there is one for the claim; it never waits. */
  take(claim: T): boolean {
    const hasRoom = this.#hasRoomFor(claim);
    if (hasRoom) this.#hold(claim);
    return hasRoom;
  }

  /** Takes a place if there is one for the claim, and queues it if not. */
  request(claim: T): PlaceAnswer<T> {
    if (this.take(claim)) return { kind: 'holds' };
    const ofTenant = this.#waiting.get(claim.tenant)?.length ?? 0;
    if (ofTenant >= this.#bounds.waitingOfTenant) return { kind: 'rejected', why: 'tenantIsFull' };
    if (this.#size < this.#bounds.waiting) {
      this.#enqueue(claim);
      return { kind: 'waits' };
    }
    const displaced = this.#newestOfLargest(ofTenant + 1);
    if (displaced === undefined) return { kind: 'rejected', why: 'isFull' };
    this.withdraw(displaced);
    this.#enqueue(claim);
    return { kind: 'waits', displaced };
  }

  /** The claim no longer waits. */
  withdraw(claim: T): void {
    const list = this.#waiting.get(claim.tenant) ?? [];
    const at = list.indexOf(claim);
    if (at < 0) return;
    list.splice(at, 1);
    this.#size -= 1;
    if (list.length === 0) this.#waiting.delete(claim.tenant);
    this.#forgetTurns();
  }

  /** The claim gives its place back. Returns those that hold a place from now on. */
  release(claim: T): readonly T[] {
    if (!this.#held.delete(claim)) return [];
    this.#tenants.change(claim.tenant, -1);
    this.#members.change(claim.member, -1);
    if (claim.isSlow) this.#slow.change(claim.tenant, -1);
    this.#forgetTurns();
    const served: T[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) served.push(next);
    return served;
  }

  /** Serves the next claim that waits and can have a place. */
  #next(): T | undefined {
    if (this.#held.size >= this.#bounds.places || this.#size === 0) return undefined;
    const slow = this.#first(true);
    const quick = slow !== undefined && this.#quickInARow >= this.#bounds.quickInARow ? undefined : this.#first(false);
    const claim = quick ?? slow;
    if (claim === undefined) return undefined;
    this.#quickInARow = quick !== undefined && slow !== undefined ? this.#quickInARow + 1 : 0;
    this.withdraw(claim);
    this.#hold(claim);
    return claim;
  }

  #first(isSlow: boolean): T | undefined {
    let first: T | undefined;
    for (const [tenant, list] of this.#waiting) {
      if (!this.#hasTenantRoom(tenant, isSlow)) continue;
      if (first !== undefined && !this.#tenants.isBefore(tenant, first.tenant)) continue;
      first = this.#firstOf(list, isSlow) ?? first;
    }
    return first;
  }

  #firstOf(list: readonly T[], isSlow: boolean): T | undefined {
    let first: T | undefined;
    for (const claim of list) {
      if (claim.isSlow !== isSlow || this.#members.count(claim.member) >= this.#bounds.ofMember) continue;
      if (first === undefined || this.#members.isBefore(claim.member, first.member)) first = claim;
    }
    return first;
  }

  /** Turns matter between those that wait. While none waits, only turns of holders are kept. */
  #forgetTurns(): void {
    if (this.#size > 0) return;
    this.#tenants.forgetTurns();
    this.#members.forgetTurns();
  }

  #enqueue(claim: T): void {
    const list = this.#waiting.get(claim.tenant);
    if (list === undefined) this.#waiting.set(claim.tenant, [claim]);
    else list.push(claim);
    this.#size += 1;
  }

  #hold(claim: T): void {
    const { tenant, member, isSlow } = claim;
    this.#held.add(claim);
    this.#turn += 1;
    this.#tenants.change(tenant, 1, this.#turn);
    this.#members.change(member, 1, this.#turn);
    if (isSlow) this.#slow.change(tenant, 1);
  }

  #hasRoomFor({ tenant, member, isSlow }: T): boolean {
    if (this.#held.size >= this.#bounds.places) return false;
    return this.#members.count(member) < this.#bounds.ofMember && this.#hasTenantRoom(tenant, isSlow);
  }

  #hasTenantRoom(tenant: string, isSlow: boolean): boolean {
    const { ofTenant, slow, slowOfTenant } = this.#bounds;
    if (this.#tenants.count(tenant) >= ofTenant) return false;
    return !isSlow || (this.#slow.total < slow && this.#slow.count(tenant) < slowOfTenant);
  }

  #newestOfLargest(moreThan: number): T | undefined {
    const [largest] = [...this.#waiting.values()].toSorted((one, other) => other.length - one.length);
    return largest === undefined || largest.length <= moreThan ? undefined : largest.at(-1);
  }
}

/** How many places each of them holds, and when each was last served. */
class Holders {
  readonly #counts = new Map<string, number>();
  readonly #turns = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  change(key: string, by: 1 | -1, turn?: number): void {
    const count = this.count(key) + by;
    this.#total += by;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
    if (turn !== undefined) this.#turns.set(key, turn);
  }

  /** Fewer places first, then the tenant that was served longest ago. */
  isBefore(one: string, other: string): boolean {
    const fewer = this.count(one) - this.count(other);
    return fewer !== 0 ? fewer < 0 : (this.#turns.get(one) ?? 0) < (this.#turns.get(other) ?? 0);
  }

  forgetTurns(): void {
    for (const key of this.#turns.keys()) if (!this.#counts.has(key)) this.#turns.delete(key);
  }
}
