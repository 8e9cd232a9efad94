/** Formats numbers in messages. */

/** `16,384`. */
export function counted(count: number): string {
  return count.toLocaleString('en-US');
}

/** Seconds with three digits, without unit: `1.23`, `12.3`, `1234`. */
export function rounded(seconds: number): string {
  return seconds >= 100 ? seconds.toFixed(0) : seconds.toPrecision(3);
}
