/** Time as detectors see it: it never goes back, and what nobody wrote down did not happen to ranks. */

export interface SteadyTime {
  /** Of a record that was written at `atMs`. */
  readonly of: (atMs: number) => number;
}

/**
 * A clock that was set, or a writer that stood still, shows as a gap in which there is no record at all, not even a tick. Of ranks that says nothing: a gap
 * counts for no more than `mostMs`, and one that goes back for nothing.
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
