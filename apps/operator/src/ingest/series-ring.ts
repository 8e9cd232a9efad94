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
 */
export class SeriesRing {
  readonly bootId: string;
  readonly #limits: SeriesLimits;
  readonly #monotonicMs: () => number;
  /** Kept as text, since each frame is made once and sent to several readers. Holds the numbers from `#oldest` to `#next - 1`. */
  readonly #lines = new Map<number, string>();
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
    this.#lines.set(this.#next, line);
    this.#next += 1;
    this.#characters += line.length;
    while (this.#lines.size > this.#limits.frames || this.#characters > this.#limits.characters) this.#dropOldest();
    for (const wake of this.#waiting) wake();
  }

  /** A reader that has seen everything up to `after` of boot `bootId`; of another boot, it starts with the oldest frame there is. */
  cursor(from: { readonly bootId?: string | undefined; readonly after?: number | undefined }): SeriesCursor {
    let position = from.bootId === this.bootId ? (from.after ?? 0) + 1 : 1;
    return {
      next: () => {
        position = Math.min(Math.max(position, this.#oldest), this.#next);
        position = this.#gaps.get(position) ?? position;
        const line = this.#lines.get(position);
        if (line !== undefined) position += 1;
        return line;
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

  #dropOldest(): void {
    const behindGap = this.#gaps.get(this.#oldest);
    if (behindGap !== undefined) {
      this.#gaps.delete(this.#oldest);
      this.#oldest = behindGap;
    }
    this.#characters -= this.#lines.get(this.#oldest)?.length ?? 0;
    this.#lines.delete(this.#oldest);
    this.#oldest += 1;
  }
}

/** Bounds of what is kept, whichever is reached first. */
export interface SeriesLimits {
  readonly frames: number;
  /** One byte each: the frames are ASCII but for names. */
  readonly characters: number;
}

const GAP_EVERY_MS = 1_000;
const DEFAULT_LIMITS: SeriesLimits = { frames: 50_000, characters: 64 * 1024 * 1024 };
