/** Smallest number from 1 to `most` for which `holds` is true, by bisection: once true, it must stay true for larger numbers. Undefined if it is false for `most`. */
export function partitionPoint(holds: (number: number) => boolean, most: number): number | undefined {
  if (most < 1 || !holds(most)) return undefined;
  let enough = most;
  let tooFew = 0;
  while (enough - tooFew > 1) {
    const middle = Math.floor((enough + tooFew) / 2);
    if (holds(middle)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}
