import { getOrCompute } from './get-or-compute.ts';

describe('what was computed for a key', () => {
  it.each<[string, number | null]>([
    ['a value', 7],
    ['zero', 0],
    ['null, which says that there is nothing', null],
  ])('is computed once: %s', (_sentence, value) => {
    const known = new Map<string, number | null>();
    let times = 0;
    const compute = (): number | null => {
      times++;
      return value;
    };
    expect([getOrCompute(known, 'a', compute), getOrCompute(known, 'a', compute)]).toEqual([value, value]);
    expect(times).toBe(1);
  });

  it('is computed for another key again', () => {
    const known = new Map<string, number>();
    expect([getOrCompute(known, 'a', () => 1), getOrCompute(known, 'b', () => 2)]).toEqual([1, 2]);
  });

  it('is computed again after it failed', () => {
    const known = new Map<string, number>();
    const fail = (): number => {
      throw new RangeError('not yet');
    };
    expect(() => getOrCompute(known, 'a', fail)).toThrow(RangeError);
    expect(getOrCompute(known, 'a', () => 3)).toBe(3);
  });
});
