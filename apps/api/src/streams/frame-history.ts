import { placeFrame } from './stream-writer.ts';

/** What was sent, by where it stands: a frame without its end. */
export interface Framed {
  readonly place: number;
  readonly frame: Buffer;
}

/** The frames sent last, and the position of each. Readers of the same frame get the same bytes. */
interface SentFrames {
  readonly beside: string;
  readonly places: readonly number[];
  /** Where each frame begins. */
  readonly offsets: readonly number[];
  readonly bytes: Buffer;
  readonly after: number;
}

/** How a place of this history is written, where the other half of a stream’s place stands still. */
export interface Beside {
  /** Those with the same key write the same. */
  readonly key: string;
  readonly placeText: (place: number) => string;
}

const NOTHING = Buffer.alloc(0);

/** The newest frames of one kind, whole from some place on, in bounded memory: who joins or comes back is served from it. */
export class FrameHistory {
  readonly #mostBytes: () => number;
  #frames: Framed[] = [];
  #bytes = 0;
  #from: number;
  #lastSent: SentFrames | undefined;

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

  /** What came after a place, each frame with its own place. The bytes are shared: nobody may change them. */
  after(place: number, beside: Beside): Buffer {
    const known = this.#lastSent;
    if (known?.beside === beside.key && known.after <= place) return tail(known, place);
    const frames = this.#frames.filter((one) => one.place > place);
    if (frames.length === 0) return NOTHING;
    this.#lastSent = joinFrames(frames, place, beside);
    return this.#lastSent.bytes;
  }

  append(frames: readonly Framed[]): void {
    if (frames.length === 0) return;
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
    this.#lastSent = undefined;
    const most = this.#mostBytes();
    let dropped = 0;
    for (; this.#bytes > most && dropped < this.#frames.length; dropped++) {
      this.#bytes -= this.#frames[dropped]?.frame.length ?? 0;
      this.#from = this.#frames[dropped]?.place ?? this.#from;
    }
    if (dropped > 0) this.#frames = this.#frames.slice(dropped);
  }
}

function joinFrames(frames: readonly Framed[], after: number, { key, placeText }: Beside): SentFrames {
  const parts: Buffer[] = [];
  const offsets: number[] = [];
  let length = 0;
  for (const { place, frame } of frames) {
    const end = placeFrame(placeText(place));
    offsets.push(length);
    parts.push(frame, end);
    length += frame.length + end.length;
  }
  return { beside: key, places: frames.map(({ place }) => place), offsets, bytes: Buffer.concat(parts, length), after };
}

function tail({ places, offsets, bytes }: SentFrames, after: number): Buffer {
  const first = places.findIndex((place) => place > after);
  return first === -1 ? NOTHING : bytes.subarray(offsets[first]);
}
