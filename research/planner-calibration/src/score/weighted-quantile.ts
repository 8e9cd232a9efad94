/** Weighted quantiles. */
export interface Weighted {
  readonly value: number;
  /** Above 0. */
  readonly weight: number;
}

/**
 * By share of the weight: linear between the middles of neighbours, since a value stands for the whole of its weight, half of which lies below it.
 * Outside the middles of the outermost, those.
 *
 * @throws RangeError where there is no value
 */
export function weightedQuantiles(values: readonly Weighted[]): (share: number) => number {
  const [first, ...others] = middlesOf(values);
  if (first === undefined) throw new RangeError('a quantile needs at least one value');
  return (share) => {
    let below = first;
    for (const above of others) {
      if (above.middle >= share) return between(below, above, share);
      below = above;
    }
    return below.value;
  };
}

interface Middle {
  readonly value: number;
  readonly middle: number;
}

function middlesOf(values: readonly Weighted[]): readonly Middle[] {
  const total = values.reduce((sum, { weight }) => sum + weight, 0);
  let passed = 0;
  return [...values]
    .sort((a, b) => a.value - b.value || a.weight - b.weight)
    .map(({ value, weight }) => {
      passed += weight;
      return { value, middle: (passed - weight / 2) / total };
    });
}

function between(below: Middle, above: Middle, share: number): number {
  const part = Math.max(0, (share - below.middle) / (above.middle - below.middle));
  return below.value + part * (above.value - below.value);
}
