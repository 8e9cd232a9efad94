/** How figures are written in sentences. */

export function counted(count: number): string {
  return count.toLocaleString('en-US');
}

export function rounded(seconds: number): string {
  return seconds >= 100 ? seconds.toFixed(0) : seconds.toPrecision(3);
}
