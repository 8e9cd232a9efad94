/** RFC 3339 with exactly six fractional digits: the apiserver refuses a MicroTime with the three that `toISOString` gives. */
export function toMicroTime(instant: Date): string {
  return instant.toISOString().replace(/\.(\d{3})Z$/, '.$1000Z');
}
