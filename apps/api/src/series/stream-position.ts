import type { SeriesFrame } from '@coxswain/api-types';

/** Frames that are known to be missing; null: an unknown number, because the stream restarted. */
export interface Gap {
  readonly bootId: string;
  readonly missedFrames: number | null;
}

/** How far the operator's stream was read, and what was missed on the way. */
export class StreamPosition {
  #bootId: string | undefined;
  #sequence: number | undefined;

  /** Where to go on; undefined before anything was read. */
  get resumeAfter(): { readonly bootId: string; readonly sequence: number } | undefined {
    return this.#bootId === undefined ? undefined : { bootId: this.#bootId, sequence: this.#sequence ?? 0 };
  }

  /**
   * Moves on to `frame` and tells the gaps before it. A step frame continues the sequence by one; a keepalive repeats the number of the
   * newest frame that there is, and tells of a new boot alone.
   */
  advance(frame: SeriesFrame): readonly Gap[] {
    const gaps: Gap[] = [];
    if (frame.bootId !== this.#bootId) {
      // What an earlier boot had not sent is lost with it, unless this is the first we ever hear.
      if (this.#bootId !== undefined) gaps.push({ bootId: frame.bootId, missedFrames: null });
      this.#bootId = frame.bootId;
      this.#sequence = undefined;
    }
    if (frame.kind === 'keepalive') return gaps;
    const expected = (this.#sequence ?? 0) + 1;
    if (frame.sequence > expected) gaps.push({ bootId: frame.bootId, missedFrames: frame.sequence - expected });
    this.#sequence = Math.max(this.#sequence ?? 0, frame.sequence);
    return gaps;
  }
}
