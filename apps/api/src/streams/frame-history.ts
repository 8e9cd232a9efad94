/** What was sent, by where it stands, as it goes over the wire. */
export interface Framed {
  readonly place: number;
  readonly frame: Buffer;
}

/** The newest frames of one kind, whole from some place on, in bounded memory: who joins or comes back is served from it. */
export class FrameHistory {
  readonly #mostBytes: () => number;
  #frames: Framed[] = [];
  #bytes = 0;
  #from: number;

  /** `from`: everything after it is here. `mostBytes` is asked each time: many histories share what there is. */
  constructor(from: number, mostBytes: () => number) {
    this.#from = from;
    this.#mostBytes = mostBytes;
  }

  /** Everything after this place is here. */
  get from(): number {
    return this.#from;
  }

  covers(place: number): boolean {
    return place >= this.#from;
  }

  after(place: number): readonly Buffer[] {
    return this.#frames.filter((one) => one.place > place).map(({ frame }) => frame);
  }

  append(frames: readonly Framed[]): void {
    for (const one of frames) {
      this.#frames.push(one);
      this.#bytes += one.frame.length;
    }
    this.#trim();
  }

  /** What lies between `from` and the beginning. It goes first when there is too much. */
  prepend(from: number, frames: readonly Framed[]): void {
    if (from >= this.#from) return;
    this.#frames.unshift(...frames.filter(({ place }) => place <= this.#from));
    this.#bytes = this.#frames.reduce((sum, { frame }) => sum + frame.length, 0);
    this.#from = from;
    this.#trim();
  }

  #trim(): void {
    const most = this.#mostBytes();
    let dropped = 0;
    for (; this.#bytes > most && dropped < this.#frames.length; dropped++) {
      this.#bytes -= this.#frames[dropped]?.frame.length ?? 0;
      this.#from = this.#frames[dropped]?.place ?? this.#from;
    }
    if (dropped > 0) this.#frames = this.#frames.slice(dropped);
  }
}
