/** Something that takes room until it is given back. */
interface Taken {
  readonly owner: string;
  readonly size: number;
  readonly evict: () => void;
}

/** Why there is no room: the owner has its share, or others have as much as this owner and all of it is taken. */
export type NoRoom = 'ofOwner' | 'ofAll';

/**
 * Room for bytes or streams that many owners share. An owner has at most its share. If all room is taken, the owner with the most loses what it took first,
 * so that no owner can keep others out.
 */
export class SharedRoom {
  readonly #most: number;
  readonly #mostOfOwner: number;
  /** Of each owner in the order in which they came; never an empty set. */
  readonly #taken = new Map<string, Set<Taken>>();
  readonly #ofOwners = new Map<string, number>();
  #sum = 0;

  /** 0: no bound. */
  constructor({ most, mostOfOwner }: { readonly most: number; readonly mostOfOwner: number }) {
    this.#most = most === 0 ? Infinity : most;
    this.#mostOfOwner = mostOfOwner === 0 ? Infinity : mostOfOwner;
  }

  get total(): number {
    return this.#sum;
  }

  /** What an owner has taken. */
  held(owner: string): number {
    return this.#ofOwners.get(owner) ?? 0;
  }

  /** What gives the room back, once, or why there is none. `evict` is called at most once, instead of giving back. An owner that has taken nothing always has room. */
  take(owner: string, size: number, evict: () => void): (() => void) | NoRoom {
    const held = this.held(owner);
    if (held > 0 && held + size > this.#mostOfOwner) return 'ofOwner';
    while (this.#sum > 0 && this.#sum + size > this.#most) {
      const [largest, most] = this.#largest();
      if (held > 0 && (largest === owner || most <= held + size)) return 'ofAll';
      this.#evictFirstOf(largest);
    }
    const taken: Taken = { owner, size, evict };
    this.#add(taken);
    return () => this.#giveBack(taken);
  }

  #largest(): readonly [string, number] {
    let most: readonly [string, number] = ['', 0];
    for (const entry of this.#ofOwners) if (entry[1] > most[1]) most = entry;
    return most;
  }

  #evictFirstOf(owner: string): void {
    const [first] = this.#taken.get(owner) ?? [];
    if (first === undefined) throw new Error('an owner without anything has taken room');
    this.#giveBack(first);
    first.evict();
  }

  #add(taken: Taken): void {
    const ofOwner = this.#taken.get(taken.owner);
    if (ofOwner === undefined) this.#taken.set(taken.owner, new Set([taken]));
    else ofOwner.add(taken);
    this.#ofOwners.set(taken.owner, this.held(taken.owner) + taken.size);
    this.#sum += taken.size;
  }

  #giveBack(taken: Taken): void {
    const ofOwner = this.#taken.get(taken.owner);
    if (ofOwner?.delete(taken) !== true) return;
    this.#sum -= taken.size;
    if (ofOwner.size > 0) return void this.#ofOwners.set(taken.owner, this.held(taken.owner) - taken.size);
    this.#taken.delete(taken.owner);
    this.#ofOwners.delete(taken.owner);
  }
}
