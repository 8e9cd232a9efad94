import { Stopwatches } from './stopwatches.ts';

describe('how long something has lasted', () => {
  it('is counted from the first decision that named it, as long as each later one does', () => {
    const watches = new Stopwatches();
    watches.keep('a', ['x'], 1_000);
    watches.keep('a', ['x', 'y'], 4_000);
    expect(watches.elapsed('a', 6_000)).toEqual(
      new Map([
        ['x', 5_000],
        ['y', 2_000],
      ]),
    );
  });

  it('begins anew after a gap', () => {
    const watches = new Stopwatches();
    watches.keep('a', ['x', 'y'], 0);
    watches.keep('a', ['y'], 1_000);
    watches.keep('a', ['x', 'y'], 2_000);
    expect(watches.elapsed('a', 2_500).get('x')).toBe(500);
  });

  it('is each job’s own, and nothing is kept for a job of which nothing lasts', () => {
    const watches = new Stopwatches();
    watches.keep('a', ['x'], 0);
    watches.keep('b', ['x'], 7);
    watches.keep('a', [], 8);
    expect(watches.elapsed('a', 9)).toEqual(new Map());
    expect(watches.elapsed('b', 9)).toEqual(new Map([['x', 2]]));
    watches.forget('b');
    expect(watches.size).toBe(0);
  });
});
