import { BoundedSerialQueue } from './bounded-serial-queue.ts';

describe('work that waits', () => {
  it('is done in order, so much of it and no more, and taken again when there is room', async () => {
    const queue = new BoundedSerialQueue(2);
    const gate = Promise.withResolvers<void>();
    const done: number[] = [];
    const work = (number: number) => async (): Promise<void> => {
      await gate.promise;
      done.push(number);
    };
    expect([1, 2, 3].map((number) => queue.add(work(number)))).toEqual([true, true, false]);
    gate.resolve();
    await queue.done;
    expect(done).toEqual([1, 2]);
    expect(queue.add(work(4))).toBe(true);
    await queue.done;
    expect(done).toEqual([1, 2, 4]);
  });
});
