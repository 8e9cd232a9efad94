import { HOUR_MS } from '@coxswain/units';
import {
  type AfterAttempt,
  afterAttempt,
  type Answer,
  type EndpointRun,
  MOST_ATTEMPTS,
  waitMs,
} from './retry-rules.ts';

const WELL: EndpointRun = { failures: 0, failingSince: null };
const START_MS = Date.UTC(2026, 0, 1);

/** The life of one message at an endpoint that always answers so; the clock moves by the waits alone. */
function life(answer: Answer, random = 0.5) {
  const at: number[] = [];
  let nowMs = START_MS;
  let endpoint = WELL;
  for (let attempts = 1; ; attempts++) {
    at.push((nowMs - START_MS) / 1000);
    const after: AfterAttempt = afterAttempt({ attempts, answer, endpoint }, { now: new Date(nowMs), random });
    endpoint = after.endpoint;
    if (after.message.state !== 'waiting') return { at, after };
    if (after.endpoint.disabledReason !== null) return { at, after };
    nowMs += after.message.waitMs;
  }
}

describe('a message that does not arrive', () => {
  it('is tried again at these seconds', () => {
    const at = [0];
    for (let attempts = 1; attempts < MOST_ATTEMPTS; attempts++)
      at.push((at.at(-1) ?? 0) + waitMs(attempts, 0.5) / 1000);
    expect(at).toEqual([0, 5, 20, 65, 200, 605, 1_820, 5_465, 16_400, 38_000, 59_600, 81_200]);
  });

  it.each<[number, number, number]>([
    [1, 0, 4_000],
    [1, 0.999_999, 6_000],
    [9, 0, 17_280_000],
    [9, 0.999_999_999_9, 25_920_000],
    [11, 0.5, 6 * HOUR_MS],
  ])('waits after attempt %i, by chance %d, for %d ms', (attempts, random, want) => {
    expect(waitMs(attempts, random)).toBe(want);
  });

  it.each<[string, number, Answer, number]>([
    ['an hour where it is asked for', 1, { status: 429, retryAfterMs: HOUR_MS }, HOUR_MS],
    ['the same of an endpoint that is down for so long', 3, { status: 503, retryAfterMs: HOUR_MS }, HOUR_MS],
    ['not for a year', 1, { status: 503, retryAfterMs: 8_760 * HOUR_MS }, 6 * HOUR_MS],
    ['no shorter than without', 9, { status: 429, retryAfterMs: 1_000 }, 17_280_000],
    ['as ever where another status says it', 1, { status: 500, retryAfterMs: HOUR_MS }, 4_000],
  ])('waits %s', (_sentence, attempts, answer, want) => {
    expect(waitMs(attempts, 0, answer)).toBe(want);
  });

  it('disables its endpoint where nothing else arrives either, and says for how long', () => {
    const { at, after } = life({ status: 503 });
    expect(at.at(-1)).toBe(59_600);
    expect(after.endpoint.disabledReason).toBe(
      'Every attempt failed for 16 hours, 11 in a row; the last one: answered 503.',
    );
  });

  it('is given up after the last attempt', () => {
    const now = new Date(START_MS);
    const answer = { trouble: 'no answer within 15 s' };
    const { message } = afterAttempt({ attempts: MOST_ATTEMPTS, answer, endpoint: WELL }, { now, random: 0 });
    expect(message).toEqual({ state: 'failed' });
  });
});

describe('an endpoint', () => {
  const since = (hours: number): Date => new Date(START_MS - hours * HOUR_MS);
  const after = (answer: Answer, endpoint: EndpointRun) =>
    afterAttempt({ attempts: 1, answer, endpoint }, { now: new Date(START_MS), random: 0.5 });

  it.each<[string, Answer, EndpointRun, boolean]>([
    [
      'that refuses fifty messages in a minute is left as it is',
      { status: 500 },
      { failures: 49, failingSince: since(0.01) },
      false,
    ],
    [
      'that failed a few times in a day is left as it is',
      { status: 500 },
      { failures: 8, failingSince: since(24) },
      false,
    ],
    [
      'that failed often enough for long enough is disabled',
      { status: 500 },
      { failures: 9, failingSince: since(12) },
      true,
    ],
    ['that nobody answers at is disabled the same', { trouble: 'x' }, { failures: 9, failingSince: since(12) }, true],
    ['that redirects has failed', { status: 302 }, { failures: 9, failingSince: since(12) }, true],
    ['that answers 410 is disabled at once', { status: 410 }, WELL, true],
    ['that answers 404 once is left as it is', { status: 404 }, WELL, false],
    ['that takes a message is well', { status: 204 }, { failures: 900, failingSince: since(100) }, false],
  ])('%s', (_sentence, answer, endpoint, isDisabled) => {
    expect(after(answer, endpoint).endpoint.disabledReason !== null).toBe(isDisabled);
  });

  it('that takes a message begins to count anew', () => {
    expect(after({ status: 200 }, { failures: 9, failingSince: since(11) })).toEqual({
      message: { state: 'delivered' },
      endpoint: { failures: 0, failingSince: null, disabledReason: null },
    });
  });
});
