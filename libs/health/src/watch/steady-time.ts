/** Time for detectors: it never goes back and skips gaps without records. */

/** A clock that follows the times of records. */
export interface SteadyTime {
  /** Detector time of a record that was written at `atMs`. */
  readonly of: (atMs: number) => number;
}

/**
 * If the clock was set or the writer was stopped, there is a gap without any record, not even a tick. A gap is no evidence about ranks: it counts for at
 * most `mostMs`, and a step backwards counts for nothing.
 */
export function steadyTime(mostMs: number): SteadyTime {
  let written: number | undefined;
  let steadyMs = 0;
  return {
    of: (atMs) => {
      steadyMs = written === undefined ? atMs : steadyMs + Math.min(Math.max(0, atMs - written), mostMs);
      written = atMs;
      return steadyMs;
    },
  };
}
