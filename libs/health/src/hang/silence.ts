/** After how long without a word is a rank silent? Learnt from silences that were none. */

export interface Silence {
  /** A rank told where it stands, so long after it last did. */
  readonly learn: (gapMs: number, atMs: number) => void;
  readonly afterMs: (nowMs: number) => number;
}

export interface SilenceSettings {
  readonly reportEveryMs: number;
  readonly periods: number;
  /** It is never waited for longer, whatever was lost before. */
  readonly mostPeriods: number;
}

/** Times of late at which somebody came back after a silence: one of all ranks, as of a network that was cut, is one, and says nothing of the next. */
const EPISODES = 16;
const LEAST_EPISODES = 4;
const LATE_MS = 30 * 60_000;

/**
 * Where reports are lost again and again, ranks that are well seem silent: a silence is then only what is longer, by a period, than those of the last half hour
 * that ended.
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
    // Asked of each rank in every look.
    afterMs: (nowMs) => {
      if (now.atMs !== nowMs) Object.assign(now, { atMs: nowMs, afterMs: afterMsAt(nowMs) });
      return now.afterMs;
    },
  };
}
