/** Computes how long a job should train between two saves. */

/**
 * The interval that loses least to saves and to work done twice, in milliseconds of training. This is Daly's estimate of higher order ("A higher
 * order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006). If saves are short beside the time between failures, it is
 * Young's sqrt(2 * stall * mttf). If a save stalls for at least twice that time, the interval is the time between failures.
 *
 * `stallMs`: how long a save holds training up, which is not how long it takes. `meanTimeToFailureMs`: of the whole job, not of a node.
 * Throws a RangeError unless both are finite and above 0. The curve is flat: half or twice the interval costs a quarter more of what saves and lost
 * work cost together.
 */
export function bestSaveIntervalMs({
  stallMs,
  meanTimeToFailureMs,
}: {
  readonly stallMs: number;
  readonly meanTimeToFailureMs: number;
}): number {
  for (const [name, value] of Object.entries({ stallMs, meanTimeToFailureMs })) {
    if (!(value > 0 && Number.isFinite(value))) {
      throw new RangeError(`${name} is ${value}; give a number of milliseconds above 0`);
    }
  }
  if (stallMs >= 2 * meanTimeToFailureMs) return meanTimeToFailureMs;
  const ratio = stallMs / (2 * meanTimeToFailureMs);
  const young = Math.sqrt(2 * stallMs * meanTimeToFailureMs);
  return young * (1 + Math.sqrt(ratio) / 3 + ratio / 9) - stallMs;
}
