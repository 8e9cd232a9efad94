/** Something that takes room until it is given back. */
interface Taken {
  readonly owner: string;
  readonly bytes: number;
  readonly evict: () => void;
}

/** Why there is no room: the owner has its share, or others have as much as this owner and all of it is taken. */
export type NoRoom = 'ofOwner' | 'ofAll';

/**
 * Room for bytes that many owners share. An owner has at most its share. If all room is taken, the owner with the most bytes loses what it took first,
 * so that no owner can keep others out.
 */
export class ByteRoom {
  readonly #most: number;
  readonly #mostOfOwner: number;
  /** In the order in which they came. */
  readonly #taken = new Set<Taken>();
  readonly #ofOwners = new Map<string, number>();
  #sum = 0;

  constructor({ most, mostOfOwner }: { readonly most: number; readonly mostOfOwner: number }) {
    this.#most = most;
    this.#mostOfOwner = mostOfOwner;
  }

  get bytes(): number {
    return this.#sum;
  }

  /** What gives the room back, once, or why there is none. `evict` is called at most once, instead of giving back. An owner that has taken nothing always has room. */
  take(owner: string, bytes: number, evict: () => void): (() => void) | NoRoom {
    const held = this.#ofOwner(owner);
    if (held > 0 && held + bytes > this.#mostOfOwner) return 'ofOwner';
    while (this.#sum > 0 && this.#sum + bytes > this.#most) {
      const [largest, most] = this.#largest();
      if (held > 0 && (largest === owner || most <= held + bytes)) return 'ofAll';
      this.#evictFirstOf(largest);
    }
    const taken: Taken = { owner, bytes, evict };
    this.#add(taken, 1);
    return () => this.#giveBack(taken);
  }

  #ofOwner(owner: string): number {
    return this.#ofOwners.get(owner) ?? 0;
  }

  #largest(): readonly [string, number] {
    let most: readonly [string, number] = ['', 0];
    for (const entry of this.#ofOwners) if (entry[1] > most[1]) most = entry;
    return most;
  }

  #evictFirstOf(owner: string): void {
    for (const taken of this.#taken) {
      if (taken.owner !== owner) continue;
      this.#giveBack(taken);
      taken.evict();
      return;
    }
  }

  #giveBack(taken: Taken): void {
    if (this.#taken.has(taken)) this.#add(taken, -1);
  }

  #add(taken: Taken, sign: 1 | -1): void {
    if (sign === 1) this.#taken.add(taken);
    else this.#taken.delete(taken);
    this.#sum += sign * taken.bytes;
    const ofOwner = this.#ofOwner(taken.owner) + sign * taken.bytes;
    if (ofOwner === 0) this.#ofOwners.delete(taken.owner);
    else this.#ofOwners.set(taken.owner, ofOwner);
  }
}
