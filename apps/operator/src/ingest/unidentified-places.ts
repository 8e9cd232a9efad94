/** How many connections may be open of which nobody knows who they are. */
export interface UnidentifiedLimits {
  readonly most: number;
  /** Time to say who one is: TLS, the request and hello together. Nothing prolongs it. */
  readonly helloWithinMs: number;
}

interface Place {
  readonly address: string;
  readonly drop: () => void;
  readonly stopWaiting: () => void;
}

/**
 * Connections whose other end has not shown yet who it is. They are few and short, so that nobody without a token keeps launchers from their places.
 *
 * When all places are taken, whoever holds more of them than the newcomer's address would gives its oldest one up; where nobody does, the newcomer goes and comes again.
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

  /** Somebody connected; `drop` is called when it has to go. */
  enter(key: string, address: string, drop: () => void): void {
    if (this.#places.size >= this.#limits.most && !this.#makeRoomFor(address)) return drop();
    const stopWaiting = this.#setTimer(this.#limits.helloWithinMs, () => this.#dropOut(key));
    this.#places.set(key, { address, drop, stopWaiting });
    const keys = this.#byAddress.get(address);
    if (keys === undefined) this.#byAddress.set(address, new Set([key]));
    else keys.add(key);
  }

  /** It has said who it is, and is looked up: that takes as long as it takes, but its place is still one of a stranger's. */
  recordHello(key: string): void {
    this.#places.get(key)?.stopWaiting();
  }

  /** It is known, or gone. */
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
