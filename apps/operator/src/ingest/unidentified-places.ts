/** Limits for connections without a confirmed identity. */
export interface UnidentifiedLimits {
  readonly most: number;
  /** Time for TLS, the request and hello together. Nothing extends it. */
  readonly helloWithinMs: number;
}

interface Place {
  readonly address: string;
  readonly drop: () => void;
  readonly stopWaiting: () => void;
}

/**
 * Connections without a confirmed identity. Their number and duration are limited, so that clients without a token cannot block launchers.
 *
 * If all places are taken, the address with the most places loses its oldest one, if it holds more than the new connection's address would. Otherwise the
 * new connection is dropped.
 */
export class UnidentifiedPlaces {
  readonly #limits: UnidentifiedLimits;
  readonly #setTimer: (delayMs: number, fire: () => void) => () => void;
  readonly #places = new Map<string, Place>();
  /** Keys by address, oldest first. */
  readonly #byAddress = new Map<string, Set<string>>();

  constructor(limits: UnidentifiedLimits, setTimer: (delayMs: number, fire: () => void) => () => void) {
    this.#limits = limits;
    this.#setTimer = setTimer;
  }

  get size(): number {
    return this.#places.size;
  }

  /** Adds a connection. Calls `drop` when it must end. */
  enter(key: string, address: string, drop: () => void): void {
    if (this.#places.size >= this.#limits.most && !this.#makeRoomFor(address)) return drop();
    const stopWaiting = this.#setTimer(this.#limits.helloWithinMs, () => this.#dropOut(key));
    this.#places.set(key, { address, drop, stopWaiting });
    const keys = this.#byAddress.get(address);
    if (keys === undefined) this.#byAddress.set(address, new Set([key]));
    else keys.add(key);
  }

  /** Stops the time limit of a connection that sent hello. It keeps its place until its identity is confirmed. */
  recordHello(key: string): void {
    this.#places.get(key)?.stopWaiting();
  }

  /** Removes a connection that is identified or closed. */
  leave(key: string): void {
    const place = this.#places.get(key);
    if (place === undefined) return;
    place.stopWaiting();
    this.#places.delete(key);
    const keys = this.#byAddress.get(place.address);
    keys?.delete(key);
    if (keys?.size === 0) this.#byAddress.delete(place.address);
  }

  #makeRoomFor(address: string): boolean {
    const [first] = [...this.#byAddress.values()].toSorted((one, other) => other.size - one.size);
    const oldest = first?.values().next().value;
    if (first === undefined || oldest === undefined) return false;
    if (first.size <= (this.#byAddress.get(address)?.size ?? 0) + 1) return false;
    this.#dropOut(oldest);
    return true;
  }

  #dropOut(key: string): void {
    const place = this.#places.get(key);
    this.leave(key);
    place?.drop();
  }
}
