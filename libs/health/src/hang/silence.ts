/** After how long without a report does a rank count as silent? Learnt from gaps after which ranks reported again. */

/** The duration after which a rank counts as silent. */
export interface Silence {
  /** A rank sent a watermark `gapMs` after its previous one. */
  readonly learn: (gapMs: number, atMs: number) => void;
  readonly afterMs: (nowMs: number) => number;
}

/** How often ranks report, and how many missed periods make a silence. */
export interface SilenceSettings {
  readonly reportEveryMs: number;
  readonly periods: number;
  /** Upper bound, however long earlier gaps were. */
  readonly mostPeriods: number;
}

/** Recent gaps that ended. A gap of all ranks at once, as after a network outage, counts as one. */
const EPISODES = 16;
const LEAST_EPISODES = 4;
const LATE_MS = 30 * 60_000;

/**
 * If reports are lost repeatedly, healthy ranks seem silent. A rank then counts as silent only if its gap exceeds the longest gap that ended in the last
 * half hour by one period.
 */
export function silenceOf({ reportEveryMs, periods, mostPeriods }: SilenceSettings): Silence {
  const episodes: { atMs: number; longestMs: number }[] = [];
  const leastMs = periods * reportEveryMs;
  const now = { atMs: -1, afterMs: leastMs };
  const afterMsAt = (nowMs: number): number => {
    const late = episodes.filter(({ atMs }) => nowMs - atMs <= LATE_MS);
    if (late.length < LEAST_EPISODES) return leastMs;
    const longestMs = Math.max(...late.map((episode) => episode.longestMs));
    return Math.min(longestMs + reportEveryMs, mostPeriods * reportEveryMs);
  };
  return {
    learn: (gapMs, atMs) => {
      if (gapMs <= leastMs) return;
      const last = episodes.at(-1);
      if (last !== undefined && atMs - last.atMs <= reportEveryMs) {
        last.longestMs = Math.max(last.longestMs, gapMs);
        return;
      }
      episodes.push({ atMs, longestMs: gapMs });
      if (episodes.length > EPISODES) episodes.shift();
    },
    // Called for each rank in every check.
    afterMs: (nowMs) => {
      if (now.atMs !== nowMs) Object.assign(now, { atMs: nowMs, afterMs: afterMsAt(nowMs) });
      return now.afterMs;
    },
  };
}
