import { EventQueue } from './event-queue.ts';
import { RandomStream } from './random-stream.ts';
import { VirtualTime } from './virtual-time.ts';

const popped = (queue: EventQueue<string>): readonly string[] => {
  const events: string[] = [];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) events.push(next.event);
  return events;
};

describe('a queue of events', () => {
  it.each<[string, readonly (readonly [number, string])[], readonly string[]]>([
    ['is empty at first', [], []],
    ['gives its only event', [[5, 'a']], ['a']],
    [
      'gives the earlier one first',
      [
        [5, 'b'],
        [1, 'a'],
      ],
      ['a', 'b'],
    ],
    [
      'gives events of one time as they were put in',
      [
        [1, 'a'],
        [1, 'b'],
        [1, 'c'],
      ],
      ['a', 'b', 'c'],
    ],
    [
      'keeps that order around an earlier one',
      [
        [1, 'b'],
        [0, 'a'],
        [1, 'c'],
        [0, 'a2'],
      ],
      ['a', 'a2', 'b', 'c'],
    ],
    [
      'takes times before the beginning',
      [
        [0, 'b'],
        [-5, 'a'],
      ],
      ['a', 'b'],
    ],
    [
      'takes fractions of a millisecond',
      [
        [0.2, 'b'],
        [0.1, 'a'],
      ],
      ['a', 'b'],
    ],
    [
      'sorts what was put in backwards',
      [
        [4, 'd'],
        [3, 'c'],
        [2, 'b'],
        [1, 'a'],
        [0, '0'],
      ],
      ['0', 'a', 'b', 'c', 'd'],
    ],
  ])('%s', (_sentence, pushed, want) => {
    const queue = new EventQueue<string>();
    for (const [atMs, event] of pushed) queue.push(atMs, event);
    expect(queue.size).toBe(pushed.length);
    expect(popped(queue)).toEqual(want);
    expect([queue.size, queue.nextAtMs]).toEqual([0, undefined]);
  });

  it('tells when the next event is due, and leaves it', () => {
    const queue = new EventQueue<string>();
    queue.push(9, 'b');
    queue.push(4, 'a');
    expect([queue.nextAtMs, queue.nextAtMs, queue.size]).toEqual([4, 4, 2]);
    expect(queue.pop()).toMatchObject({ atMs: 4, event: 'a' });
    expect([queue.nextAtMs, queue.size]).toEqual([9, 1]);
  });

  it('puts an event in its place that comes between two pops', () => {
    const queue = new EventQueue<string>();
    queue.push(1, 'a');
    queue.push(5, 'c');
    queue.pop();
    queue.push(3, 'b');
    queue.push(5, 'd');
    expect(popped(queue)).toEqual(['b', 'c', 'd']);
  });

  it.each([
    [Number.NaN, 'not NaN'],
    [Infinity, 'not Infinity'],
    [-Infinity, 'not -Infinity'],
  ])('rejects an event at %d, and stays as it was', (atMs, words) => {
    const queue = new EventQueue<string>();
    queue.push(1, 'a');
    expect(() => queue.push(atMs, 'x')).toThrow(words);
    expect(popped(queue)).toEqual(['a']);
  });
});

describe('virtual time', () => {
  it.each<[string, (time: VirtualTime, seen: string[]) => void, readonly string[], number]>([
    ['goes to the end without events', (time) => time.runUntil(50), [], 50],
    [
      'leaves an event that is due at the end',
      (time, seen) => {
        time.at(50, () => seen.push('at the end'));
        time.runUntil(50);
      },
      [],
      50,
    ],
    [
      'takes that event up when it goes on',
      (time, seen) => {
        time.at(50, () => seen.push(`at ${time.nowMs}`));
        time.runUntil(50);
        time.runUntil(51);
      },
      ['at 50'],
      51,
    ],
    [
      'does not go back',
      (time) => {
        time.runUntil(50);
        time.runUntil(20);
      },
      [],
      50,
    ],
    [
      'lets an overdue event happen now',
      (time, seen) => {
        time.runUntil(50);
        time.at(10, () => seen.push(`at ${time.nowMs}`));
        time.runUntil(60);
      },
      ['at 50'],
      60,
    ],
    [
      'counts a delay from the event that asks for it',
      (time, seen) => {
        time.after(10, () => time.after(10, () => seen.push(`at ${time.nowMs}`)));
        time.runUntil(100);
      },
      ['at 20'],
      100,
    ],
    [
      'lets what an event puts at its own time happen after what was there before',
      (time, seen) => {
        time.at(10, () => {
          seen.push('first');
          time.after(0, () => seen.push('third'));
        });
        time.at(10, () => seen.push('second'));
        time.runUntil(11);
      },
      ['first', 'second', 'third'],
      11,
    ],
  ])('%s', (_sentence, happen, want, nowMs) => {
    const time = new VirtualTime();
    const seen: string[] = [];
    happen(time, seen);
    expect(seen).toEqual(want);
    expect(time.nowMs).toBe(nowMs);
  });

  it('begins at 0', () => {
    expect(new VirtualTime().nowMs).toBe(0);
  });
});

describe('what a stream of random numbers decides', () => {
  const drawn = <T>(count: number, draw: (stream: RandomStream) => T): readonly T[] => {
    const stream = new RandomStream(11, 'decisions');
    return Array.from({ length: count }, () => draw(stream));
  };

  it.each([
    [0, 0],
    [1, 1_000],
  ])('something of probability %d happens %d times of 1,000', (probability, times) => {
    expect(drawn(1_000, (stream) => stream.happens(probability)).filter(Boolean)).toHaveLength(times);
  });

  it.each([0.05, 0.25, 0.9])(
    'something of probability %d happens as often, to four standard deviations',
    (probability) => {
      const happened = drawn(10_000, (stream) => stream.happens(probability)).filter(Boolean).length;
      expect(Math.abs(happened - 10_000 * probability)).toBeLessThan(400 * Math.sqrt(probability * (1 - probability)));
    },
  );

  it.each([1, 2, 7])('each index below %d comes, and no other', (count) => {
    const seen = new Set(drawn(500, (stream) => stream.index(count)));
    expect([...seen].sort((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 5, 6].slice(0, count));
  });

  it('is one draw for an index and for a probability: streams stay in step', () => {
    const [one, other] = [new RandomStream(1, 'a'), new RandomStream(1, 'a')];
    one.index(10);
    one.happens(0.5);
    other.uniform();
    other.uniform();
    expect(one.uniform()).toBe(other.uniform());
  });

  it('is the same for a seed that is negative, large or not far from another, each of its own', () => {
    const first = (seed: number): number => new RandomStream(seed, 'x').uniform();
    const seeds = [-1, 0, 1, 2 ** 31 - 1, -(2 ** 31)];
    expect(seeds.map(first)).toEqual(seeds.map(first));
    expect(new Set(seeds.map(first)).size).toBe(5);
  });

  it('differs by name alone if one name is the beginning of the other', () => {
    expect(new RandomStream(1, 'cause').uniform()).not.toBe(new RandomStream(1, 'causes').uniform());
  });
});
