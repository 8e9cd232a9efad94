/** Every divisor of a whole number, ascending. */
export function divisorsOf(whole: number): readonly number[] {
  const small: number[] = [];
  const large: number[] = [];
  for (let candidate = 1; candidate * candidate <= whole; candidate++) {
    if (whole % candidate !== 0) continue;
    small.push(candidate);
    if (candidate * candidate !== whole) large.unshift(whole / candidate);
  }
  return [...small, ...large];
}

/** The candidate closest to `wanted`; the smaller of two equally close ones; undefined if there are none. */
export function nearest(candidates: readonly number[], wanted: number): number | undefined {
  const distance = (candidate: number): number => Math.abs(candidate - wanted);
  return [...candidates].sort((one, other) => distance(one) - distance(other) || one - other)[0];
}

/** The divisor of `whole` closest to `wanted`; the smaller of two equally close ones. */
export function nearestDivisor(whole: number, wanted: number): number {
  return nearest(divisorsOf(whole), wanted) ?? 1;
}

/** The multiple of `step` closest to `wanted`, at least one of it; the smaller of two equally close ones. */
export function nearestMultiple(step: number, wanted: number): number {
  const below = Math.max(step, Math.floor(wanted / step) * step);
  return wanted - below <= below + step - wanted ? below : below + step;
}
