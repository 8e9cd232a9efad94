/**
 * False alarms per day, R * (86400 / W) * C(M, K) * p^K. The test names one of `subjects` if it stood out in at least `flagged` of `windows` consecutive
 * windows. Windows are taken to be independent, and a subject stands out in one by chance with `windowFalseRate`.
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
