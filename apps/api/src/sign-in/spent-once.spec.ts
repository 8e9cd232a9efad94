import { SpentOnce } from './spent-once.ts';

describe('what may be used once', () => {
  it.each<[string, readonly (readonly [key: string, atMs: number])[], readonly boolean[]]>([
    [
      'is used once',
      [
        ['a', 0],
        ['a', 1],
        ['b', 2],
      ],
      [true, false, true],
    ],
    [
      'is forgotten after its time',
      [
        ['a', 0],
        ['a', 99],
        ['a', 100],
        ['a', 101],
      ],
      [true, false, true, false],
    ],
    [
      'is forgotten first if it is the oldest of too many',
      [
        ['a', 0],
        ['b', 1],
        ['c', 2],
        ['d', 3],
        ['b', 4],
        ['a', 5],
      ],
      [true, true, true, true, false, true],
    ],
  ])('%s', (_sentence, uses, want) => {
    const spent = new SpentOnce({ most: 3, forMs: 100 });
    expect(uses.map(([key, atMs]) => spent.spend(key, atMs))).toEqual(want);
    expect(spent.size).toBeLessThanOrEqual(3);
  });

  it('can be given back', () => {
    const spent = new SpentOnce({ most: 3, forMs: 100 });
    spent.spend('a', 0);
    spent.giveBack('a');
    expect(spent.spend('a', 1)).toBe(true);
  });
});
