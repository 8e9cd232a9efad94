import type { HealthSettings } from '../settings.ts';

/** In how many of the last windows did a subject stand out? Subjects that never did take no memory. */
export interface Streak<Key> {
  /** The subjects that stood out in the window that just ended. Answers those that now did so often enough and have not been told since they last were well. */
  readonly close: (stoodOut: Iterable<Key>) => readonly Key[];
}

export function streakOf<Key>({ flagged, windows }: HealthSettings['slow']): Streak<Key> {
  const seen = new Map<Key, number>();
  const told = new Set<Key>();
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
          told.delete(key);
        } else if (countOf(bits) >= flagged && !told.has(key)) {
          told.add(key);
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
