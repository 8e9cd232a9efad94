import type { HealthSettings } from '../settings.ts';

/** Counts in how many of the last windows a subject stood out. Subjects that never did take no memory. */
export interface Streak<Key> {
  /** Ends a window in which these subjects stood out. Returns subjects that stood out often enough and were not reported since they last recovered. */
  readonly close: (stoodOut: Iterable<Key>) => readonly Key[];
}

/** Begins without any window. */
export function streakOf<Key>({ flagged, windows }: HealthSettings['slow']): Streak<Key> {
  const seen = new Map<Key, number>();
  const reported = new Set<Key>();
  const all = (1 << windows) - 1;
  return {
    close: (stoodOut) => {
      const now = new Set(stoodOut);
      for (const key of now) if (!seen.has(key)) seen.set(key, 0);
      const due: Key[] = [];
      for (const [key, past] of seen) {
        const bits = ((past << 1) | (now.has(key) ? 1 : 0)) & all;
        seen.set(key, bits);
        if (bits === 0) {
          seen.delete(key);
          reported.delete(key);
        } else if (countOf(bits) >= flagged && !reported.has(key)) {
          reported.add(key);
          due.push(key);
        }
      }
      return due;
    },
  };
}

function countOf(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count += 1;
  return count;
}
