/** Further away than that, a value says nothing about the place. */
const MOST_DISTANCE = 64;

/** The index of the value nearest to that one that is there; the index itself if there is none near. */
export function nearestIndex(values: ArrayLike<number | null | undefined>, index: number): number {
  for (let distance = 0; distance <= MOST_DISTANCE; distance++) {
    for (const near of [index - distance, index + distance]) {
      if (near >= 0 && near < values.length && typeof values[near] === 'number') return near;
    }
  }
  return index;
}
