import { RefusedCheckpoints } from './refused-checkpoints.ts';

const C40 = { kind: 'createCheckpoint', name: 'tiny-e1-s40' } as const;
const KEY = 'createCheckpoint/tiny-e1-s40';

describe('what the API server does not take of checkpoints', () => {
  const retries = (refused: RefusedCheckpoints, nowMs: number) => refused.of('uid', nowMs).get(KEY)?.retryInMs;
  const note = (refused: RefusedCheckpoints, nowMs: number, isRefusal = true): boolean =>
    refused.note('uid', C40, { message: 'exceeded quota', isRefusal, nowMs });

  it('is remembered with its words, and tried again after 30 s, 60 s and so on, up to 10 minutes', () => {
    const refused = new RefusedCheckpoints();
    const pauses = [0, 1, 2, 3, 4, 5, 6].map((time) => {
      expect(note(refused, time)).toBe(true);
      return (retries(refused, time) ?? 0) / 1000;
    });
    expect(pauses).toEqual([30, 60, 120, 240, 480, 600, 600]);
    expect(refused.of('uid', 31_006)).toEqual(new Map([[KEY, { message: 'exceeded quota', retryInMs: 569_000 }]]));
  });

  it('is no refusal before a server that fails has had a minute', () => {
    const refused = new RefusedCheckpoints();
    expect([0, 30_000, 59_999].map((nowMs) => note(refused, nowMs, false))).toEqual([false, false, false]);
    expect(retries(refused, 59_999)).toBeUndefined();
    expect(note(refused, 60_000, false)).toBe(true);
    expect(retries(refused, 60_000)).toBe(5_000);
  });

  it('is forgotten when it was made, and with its job', () => {
    const refused = new RefusedCheckpoints();
    note(refused, 0);
    refused.done('uid', C40);
    refused.done('uid', C40);
    expect(refused.size).toBe(0);
    note(refused, 0);
    refused.forget('uid');
    expect(refused.size).toBe(0);
  });
});
