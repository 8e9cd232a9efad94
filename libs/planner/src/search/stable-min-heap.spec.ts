import fc from 'fast-check';
import { StableMinHeap } from './stable-min-heap.ts';

describe('a queue of the least first', () => {
  it('gives up entries by key, and equal ones in the order they came', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9)), (keys) => {
        const queue = new StableMinHeap<readonly [number, number]>();
        keys.forEach((key, turn) => queue.push(key, [key, turn]));
        const given = keys.map(() => queue.pop());
        expect(given).toEqual(keys.map((key, turn) => [key, turn]).sort(([a = 0], [b = 0]) => a - b));
        expect(queue.pop()).toBeUndefined();
      }),
    );
  });
});
