/** The least number from 1 on that will do, where more of it always does too; undefined where the most does not. */
export function leastThat(will: (number: number) => boolean, most: number): number | undefined {
  if (most < 1 || !will(most)) return undefined;
  let enough = most;
  let tooFew = 0;
  while (enough - tooFew > 1) {
    const middle = Math.floor((enough + tooFew) / 2);
    if (will(middle)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}
