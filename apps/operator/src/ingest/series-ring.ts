import type { SeriesFrame, StepFrame } from '@coxswain/api-types';
import { systemClock } from '@coxswain/kube';

/** A step before the ring gives it a number. */
export type NewStepFrame = Omit<StepFrame, 'kind' | 'bootId' | 'sequence'>;

/** Position of a reader. It advances with each call and skips dropped frames if the reader is too slow. */
export interface SeriesCursor {
  /** The next line of NDJSON without its newline, or undefined when the reader has everything. */
  next(): string | undefined;
}

/**
 * The newest steps of all jobs, in order, in bounded memory. Sequence numbers are contiguous per boot, so a gap shows a reader how many frames were
 * dropped before it could read them.
 *
 * If the memory is full, frames that every reader has had the time to read are dropped first. Then a namespace that holds more than an equal share loses its own oldest frame with each new one. Any other takes that of the namespace
 * that holds most. So steps of one namespace never displace those of others.
 */
export class SeriesRing {
  readonly bootId: string;
  readonly #limits: SeriesLimits;
  readonly #monotonicMs: () => number;
  /** Kept as text, since each frame is made once and sent to several readers. Holds numbers from `#oldest` to `#next - 1`. */
  readonly #lines = new Map<number, Line>();
  readonly #holdings = new Map<string, Holding>();
  readonly #largest: { holding: Holding | undefined; uses: number } = { holding: undefined, uses: 0 };
  readonly #waiting = new Set<() => void>();
  #oldest = 1;
  #next = 1;
  #characters = 0;
  #missed = 0;
  #gapLeftAtMs = Number.NEGATIVE_INFINITY;
  /** Gaps for steps that were never received: first number, and the number after the gap. */
  readonly #gaps = new Map<number, number>();

  constructor(options: {
    readonly bootId: string;
    readonly limits?: Partial<SeriesLimits>;
    readonly clock?: { monotonicMs(): number };
  }) {
    this.bootId = options.bootId;
    this.#monotonicMs = () => (options.clock ?? systemClock).monotonicMs();
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
  }

  /** Number of the newest frame; 0 before the first. */
  get newestSequence(): number {
    return this.#next - 1;
  }

  /** Counts steps that were not received; readers see a gap before the next frame. */
  miss(steps: number): void {
    this.#missed += steps;
  }

  append(frame: NewStepFrame): void {
    this.#leaveGap();
    const numbered: StepFrame = { kind: 'step', bootId: this.bootId, sequence: this.#next, ...frame };
    const line = JSON.stringify(numbered);
    const holding = this.#holdingOf(frame.namespace);
    this.#lines.set(this.#next, { text: line, holding, atMs: this.#monotonicMs() });
    holding.numbers.push(this.#next);
    holding.characters += line.length;
    this.#next += 1;
    this.#characters += line.length;
    while (this.#lines.size > this.#limits.frames || this.#characters > this.#limits.characters)
      this.#dropOldestOf(this.#staleHolding() ?? (this.#isAboveShare(holding) ? holding : this.#largestHolding()));
    for (const wake of this.#waiting) wake();
  }

  /** A reader that has seen everything up to `after` of boot `bootId`; of another boot, it starts with the oldest frame there is. */
  cursor(from: { readonly bootId?: string | undefined; readonly after?: number | undefined }): SeriesCursor {
    let position = from.bootId === this.bootId ? (from.after ?? 0) + 1 : 1;
    return {
      next: () => {
        position = this.#firstFrom(Math.min(Math.max(position, this.#oldest), this.#next));
        const line = this.#lines.get(position);
        if (line !== undefined) position += 1;
        return line?.text;
      },
    };
  }

  /** Calls `wake` on every new frame. Returns a function that stops it. */
  onAppend(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /** A sign of life for readers while nothing happens. */
  keepalive(at: Date): string {
    const frame: SeriesFrame = {
      kind: 'keepalive',
      bootId: this.bootId,
      sequence: this.newestSequence,
      at: at.toISOString(),
    };
    return JSON.stringify(frame);
  }

  /** At most one gap per second, so that readers get one gap record per second and not one per frame. */
  #leaveGap(): void {
    const nowMs = this.#monotonicMs();
    if (this.#missed === 0 || nowMs - this.#gapLeftAtMs < GAP_EVERY_MS) return;
    this.#gaps.set(this.#next, this.#next + this.#missed);
    this.#next += this.#missed;
    this.#missed = 0;
    this.#gapLeftAtMs = nowMs;
  }

  /** The first number from there that has a frame; the next one of all if there is none. */
  #firstFrom(number: number): number {
    let position = number;
    while (position < this.#next && !this.#lines.has(position)) position = this.#gaps.get(position) ?? position + 1;
    return position;
  }

  #holdingOf(namespace: string): Holding {
    const known = this.#holdings.get(namespace);
    if (known !== undefined) return known;
    const holding: Holding = { namespace, numbers: [], head: 0, characters: 0 };
    this.#holdings.set(namespace, holding);
    return holding;
  }

  /** The namespace of the oldest frame, if that frame has been there for long. */
  #staleHolding(): Holding | undefined {
    const oldest = this.#lines.get(this.#oldest);
    return oldest !== undefined && this.#monotonicMs() - oldest.atMs > STALE_MS ? oldest.holding : undefined;
  }

  #isAboveShare(holding: Holding): boolean {
    const { size } = this.#holdings;
    const { frames, characters } = this.#limits;
    return framesOf(holding) * size > frames || holding.characters * size > characters;
  }

  /** Looked for anew after some uses, because there may be thousands of namespaces. */
  #largestHolding(): Holding {
    const { holding, uses } = this.#largest;
    if (holding !== undefined && uses < LARGEST_USES && this.#isAboveShare(holding)) {
      this.#largest.uses += 1;
      return holding;
    }
    const all = [...this.#holdings.values()];
    const largest = all.reduce((one, other) => (this.#weightOf(other) > this.#weightOf(one) ? other : one));
    Object.assign(this.#largest, { holding: largest, uses: 0 });
    return largest;
  }

  /** The larger part of the two bounds. */
  #weightOf(holding: Holding): number {
    return Math.max(framesOf(holding) / this.#limits.frames, holding.characters / this.#limits.characters);
  }

  #dropOldestOf(holding: Holding): void {
    const number = takeOldest(holding);
    const length = this.#lines.get(number)?.text.length ?? 0;
    this.#lines.delete(number);
    holding.characters -= length;
    this.#characters -= length;
    if (framesOf(holding) === 0) this.#holdings.delete(holding.namespace);
    if (number === this.#oldest || this.#lines.size === 0) this.#forgetBefore(this.#firstFrom(this.#oldest));
  }

  #forgetBefore(oldest: number): void {
    this.#oldest = oldest;
    for (const from of this.#gaps.keys()) {
      if (from >= oldest) return;
      this.#gaps.delete(from);
    }
  }
}

interface Line {
  readonly text: string;
  readonly holding: Holding;
  readonly atMs: number;
}

/** What the memory has of one namespace: numbers of its frames, oldest first. */
interface Holding {
  readonly namespace: string;
  readonly numbers: number[];
  /** Place of the oldest in `numbers`: those before it were dropped. */
  head: number;
  characters: number;
}

function framesOf({ numbers, head }: Holding): number {
  return numbers.length - head;
}

function takeOldest(holding: Holding): number {
  const { numbers } = holding;
  const oldest = numbers[holding.head] ?? 0;
  holding.head += 1;
  if (holding.head >= LEAST_DROPPED && holding.head * 2 > numbers.length) {
    numbers.splice(0, holding.head);
    holding.head = 0;
  }
  return oldest;
}

/** Bounds of what is kept, whichever is reached first. */
export interface SeriesLimits {
  readonly frames: number;
  /** One byte each: the frames are ASCII but for names. */
  readonly characters: number;
}

const GAP_EVERY_MS = 1_000;
const LARGEST_USES = 64;
/** Dropped numbers of a namespace after which their places are given back. */
const LEAST_DROPPED = 1_024;
/** Readers that are further behind have lost their connection or cannot keep up. */
const STALE_MS = 30_000;
const DEFAULT_LIMITS: SeriesLimits = { frames: 50_000, characters: 64 * 1024 * 1024 };
