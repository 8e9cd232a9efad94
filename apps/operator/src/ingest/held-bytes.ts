/** How many bytes of frames may connections hold that were received and not handled? */

/** Bounds in bytes, of a connection without a confirmed identity and of all connections. */
export interface HeldBounds {
  readonly unidentified: number;
  readonly all: number;
}

/** A hello has less than 2 KiB. Launchers that keep to their pace hold next to nothing. */
const BOUNDS: HeldBounds = { unidentified: 65_536, all: 67_108_864 };

/** The count of one connection. */
export interface HeldConnection {
  /** Bytes arrived, of a frame that may not be complete. */
  receive(bytes: number): void;
  /** A frame is complete. Returns how many characters of complete frames wait. */
  complete(characters: number): number;
  /** A complete frame was handled. Returns how many characters still wait. */
  handle(characters: number): number;
  /** Its launcher is known: it now has its part of the bytes for all. */
  identify(): void;
  /** The connection is closed. Frames that wait are still counted until they are handled. */
  close(): void;
}

interface Counts {
  readonly cut: () => void;
  /** Of a frame that is not complete. */
  partial: number;
  waiting: number;
  isIdentified: boolean;
}

/**
 * Counts what connections hold. A connection without identity is cut at a small bound. If all together hold too much, the connection that holds most is cut:
 * a launcher that keeps to its pace is never that one, and one that was cut connects again.
 */
export class HeldBytes {
  readonly #bounds: HeldBounds;
  readonly #connections = new Set<Counts>();
  #bytes = 0;

  constructor(bounds: HeldBounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /** Bytes of all connections. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Begins the count of a connection. `cut` ends the connection. */
  open(cut: () => void): HeldConnection {
    const counts: Counts = { cut, partial: 0, waiting: 0, isIdentified: false };
    this.#connections.add(counts);
    return {
      receive: (bytes) => {
        this.#add(counts, { partial: bytes });
        this.#bound(counts);
      },
      complete: (characters) => {
        this.#add(counts, { partial: -counts.partial, waiting: characters });
        this.#bound(counts);
        return counts.waiting;
      },
      handle: (characters) => {
        this.#add(counts, { waiting: -characters });
        return counts.waiting;
      },
      identify: () => {
        counts.isIdentified = true;
      },
      close: () => {
        this.#add(counts, { partial: -counts.partial });
        this.#connections.delete(counts);
      },
    };
  }

  #add(counts: Counts, { partial = 0, waiting = 0 }: { readonly partial?: number; readonly waiting?: number }): void {
    counts.partial += partial;
    counts.waiting += waiting;
    this.#bytes += partial + waiting;
  }

  #bound(counts: Counts): void {
    if (!counts.isIdentified && heldBy(counts) > this.#bounds.unidentified) this.#cut(counts);
    if (this.#bytes <= this.#bounds.all) return;
    let heaviest = counts;
    for (const other of this.#connections) if (heldBy(other) > heldBy(heaviest)) heaviest = other;
    this.#cut(heaviest);
  }

  #cut(counts: Counts): void {
    // A connection is cut once. What it holds is counted until it is gone.
    if (this.#connections.delete(counts)) counts.cut();
  }
}

function heldBy({ partial, waiting }: Counts): number {
  return partial + waiting;
}
