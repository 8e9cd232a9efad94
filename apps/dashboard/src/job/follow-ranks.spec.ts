/** How a page reads where the ranks of a job are: how often, until when, and what it does without an answer. */
import { ApiProblem } from '@coxswain/api-client';
import type { RankMap } from '@coxswain/api-types';
import { aRankPlace } from '@coxswain/api-types/testing';
import { vi } from 'vitest';
import { followRanks } from './follow-ranks.ts';

const GONE = new ApiProblem(404, 'NOT_FOUND', 'There is no such job.');
const DOWN = new Error('Cannot reach the API.');
const ranksOf = (count: number, epoch = 1): RankMap => ({
  epoch,
  items: Array.from({ length: count }, (_, rank) => aRankPlace({ rank })),
  nodes: [],
  bytesPerStep: null,
});

interface Followed {
  readonly readAtS: number[];
  readonly received: RankMap[];
  readonly leave: () => void;
  hasEnded: boolean;
}

/** Follows the ranks of a job whose API answers so, each answer after so many milliseconds; the last one again and again. */
function follow(answers: readonly (RankMap | Error)[], { isFinished = false, takesMs = 0 } = {}): Followed {
  const beginMs = Date.now();
  const abort = new AbortController();
  const followed: Followed = { readAtS: [], received: [], leave: () => abort.abort(), hasEnded: false };
  const ranks = async (): Promise<RankMap> => {
    const answer = answers[Math.min(followed.readAtS.length, answers.length - 1)] ?? DOWN;
    followed.readAtS.push((Date.now() - beginMs) / 1_000);
    if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs));
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const receive = (map: RankMap): void => void followed.received.push(map);
  void followRanks({ ranks }, { project: 'research', id: 'j' }, { signal: abort.signal, isFinished, receive }).then(
    () => (followed.hasEnded = true),
  );
  return followed;
}

const seconds = async (count: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(1_000 * count);
};

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe('the ranks of a job', () => {
  it.each<[string, readonly (RankMap | Error)[], boolean, readonly number[]]>([
    ['are read every 3 s while it runs', [ranksOf(4)], false, [0, 3, 6, 9]],
    ['are read less often if they are many', [ranksOf(5_000)], false, [0, 5, 10]],
    ['are read again if the API did not answer', [DOWN, DOWN, ranksOf(4)], false, [0, 3, 6, 9]],
    ['are read once when it is finished', [ranksOf(4)], true, [0]],
    ['are read until they are there when it is finished', [DOWN, DOWN, ranksOf(4)], true, [0, 3, 6]],
    ['are not read again if there is no such job', [GONE], true, [0]],
  ])('%s', async (_sentence, answers, isFinished, want) => {
    const followed = follow(answers, { isFinished });
    await seconds(11);
    expect(followed.readAtS).toEqual(want);
    expect(followed.hasEnded).toBe(isFinished);
  });

  it('stay as they were read while the API does not answer', async () => {
    const [first, last] = [ranksOf(4, 1), ranksOf(4, 2)];
    const followed = follow([first, DOWN, DOWN, last]);
    await seconds(7);
    expect(followed.received).toEqual([first]);
    await seconds(3);
    expect(followed.received).toEqual([first, last]);
  });

  it('are not taken from an answer that came after the page was left', async () => {
    const followed = follow([ranksOf(4)], { takesMs: 500 });
    await seconds(0.2);
    followed.leave();
    await seconds(60);
    expect(followed).toMatchObject({ readAtS: [0], received: [], hasEnded: true });
  });

  it('are read no more when the page was left between two readings', async () => {
    const followed = follow([ranksOf(4)]);
    await seconds(1);
    followed.leave();
    await vi.advanceTimersByTimeAsync(0);
    expect(followed.hasEnded).toBe(true);
    await seconds(60);
    expect(followed.readAtS).toEqual([0]);
  });
});
