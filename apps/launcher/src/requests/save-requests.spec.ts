import type { SaveAsked } from '../facts/fact-server.ts';
import { SaveRequests, type SaveWanted } from './save-requests.ts';

const wanted = (request: number, incarnation = 1): SaveWanted => ({
  kind: 'saveWanted',
  epoch: 1,
  incarnation,
  request,
  why: 'Node gpu-7 has condition KernelDeadlock.',
});

function aPod(answer: SaveAsked = 'asked', ranks: readonly number[] = [0, 1]) {
  const asked: (readonly [number, number])[] = [];
  const logged: string[] = [];
  const saves = new SaveRequests({
    firstRank: () => ranks[0],
    ask: (rank, request) => {
      asked.push([rank, request]);
      return answer;
    },
    logLine: (sentence) => void logged.push(sentence),
  });
  return { saves, asked, logged };
}

describe('a save that the operator asks for', () => {
  it('is handed on once, to the first rank, however often it is said', () => {
    const { saves, asked, logged } = aPod();
    for (const request of [1, 1, 1, 2, 1, 2]) saves.receive(wanted(request));
    expect(asked).toEqual([
      [0, 1],
      [0, 2],
    ]);
    expect(logged).toHaveLength(2);
    expect(logged[0]).toMatch(/before the next one is due: Node gpu-7 has .* Rank 0 was asked; training continues/);
  });

  it('of another run of the ranks is another one', () => {
    const { saves, asked } = aPod();
    saves.receive(wanted(2));
    saves.receive(wanted(1, 2));
    expect(asked).toHaveLength(2);
  });

  it.each<[SaveAsked, RegExp]>([
    ['cannot', /Rank 0 was not asked: its engine does not support early saves/],
    ['silent', /Rank 0 was not asked: its engine is not connected/],
  ])('and cannot be handed on (%s) is said, and changes nothing', (answer, words) => {
    const { saves, logged } = aPod(answer);
    saves.receive(wanted(1));
    saves.receive(wanted(1));
    expect(logged).toEqual([expect.stringMatching(words)]);
  });

  it('before any rank runs is not lost: it is handed on when it is said again', () => {
    const ranks: number[] = [];
    const { saves, asked } = aPod('asked', ranks);
    saves.receive(wanted(1));
    ranks.push(0);
    saves.receive(wanted(1));
    expect(asked).toEqual([[0, 1]]);
  });
});
