/**
 * False alarms a day of a test that names one of `subjects` when it stood out in at least `flagged` of `windows` consecutive windows, if windows are
 * independent and one stands out by chance with `windowFalseRate`: R * (86400 / W) * C(M, K) * p^K.
 */
export function windowedFalseAlarmsPerDay(
  subjects: number,
  test: {
    readonly windowMs: number;
    readonly flagged: number;
    readonly windows: number;
    readonly windowFalseRate: number;
  },
): number {
  const windowsPerDay = 86_400_000 / test.windowMs;
  return subjects * windowsPerDay * choose(test.windows, test.flagged) * test.windowFalseRate ** test.flagged;
}

function choose(from: number, taken: number): number {
  let ways = 1;
  for (let index = 0; index < taken; index += 1) ways = (ways * (from - index)) / (index + 1);
  return ways;
}
