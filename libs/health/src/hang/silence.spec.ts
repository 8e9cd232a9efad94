import { silenceOf } from './silence.ts';

const EVERY_MS = 5_000;
const MINUTE_MS = 60_000;

/** After how long a rank is silent, when ranks came back after those silences, and so much later. */
function silentAfterMs(came: readonly (readonly [gapMs: number, atMs: number])[], laterMs = 0): number {
  const silence = silenceOf({ reportEveryMs: EVERY_MS, periods: 3, mostPeriods: 8 });
  for (const [gapMs, atMs] of came) silence.learn(gapMs, atMs);
  return silence.afterMs((came.at(-1)?.[1] ?? 0) + laterMs);
}

const again = (times: number, gapMs: number, everyMs = MINUTE_MS): readonly (readonly [number, number])[] =>
  Array.from({ length: times }, (_, at) => [gapMs, at * everyMs] as const);

describe('a rank is silent', () => {
  it.each<[string, number, number]>([
    ['three periods after its last word, where nothing is lost', silentAfterMs(again(100, EVERY_MS)), 15_000],
    ['as soon where longer silences were rare', silentAfterMs(again(3, 20_000)), 15_000],
    ['a period later than silences that ended again and again', silentAfterMs(again(4, 20_000)), 25_000],
    ['after no more than eight periods', silentAfterMs(again(4, 300_000)), 40_000],
    ['as soon where all ranks were cut off once', silentAfterMs(again(500, 60_000, 1)), 15_000],
    ['as soon half an hour after reports were lost', silentAfterMs(again(4, 20_000), 31 * MINUTE_MS), 15_000],
  ])('%s', (_sentence, afterMs, want) => {
    expect(afterMs).toBe(want);
  });
});
