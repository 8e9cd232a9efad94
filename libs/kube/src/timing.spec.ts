import fc from 'fast-check';
import { backoffMs } from './backoff.ts';
import { makeGate } from './call-gate.ts';
import { DueHeap } from './due-heap.ts';
import { FakeClock, settle } from './testing/index.ts';
import { timeLimit } from './time-limit.ts';

describe('the pause after a failure', () => {
  const bounds = { minMs: 500, maxMs: 60_000 };
  it.each([
    [1, 0, 500],
    [1, 0.999_999, 1_000],
    [2, 0.999_999, 2_000],
    [3, 0, 500],
    [7, 0.999_999, 60_000],
    [1_000, 0.999_999, 60_000],
  ])('of try %s with chance %s is %s ms', (failures, chance, want) => {
    expect(backoffMs(bounds, { failures }, () => chance)).toBeCloseTo(want, -1);
  });

  it('is never shorter than what the server asked for, and spread over a tenth above it', () => {
    expect(backoffMs(bounds, { failures: 1, retryAfterMs: 5_000 }, () => 0)).toBe(5_000);
    expect(backoffMs(bounds, { failures: 1, retryAfterMs: 5_000 }, () => 0.5)).toBe(5_250);
    expect(backoffMs(bounds, { failures: 9, retryAfterMs: 100 }, () => 0.5)).toBeGreaterThan(30_000);
  });

  it('stays within its bounds whatever is given', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failures, chance) => {
          const pauseMs = backoffMs(bounds, { failures }, () => chance);
          expect(pauseMs).toBeGreaterThanOrEqual(bounds.minMs);
          expect(pauseMs).toBeLessThanOrEqual(bounds.maxMs);
        },
      ),
    );
  });
});

describe('keys by due time', () => {
  it('are taken earliest first, and no earlier than they are due', () => {
    const heap = new DueHeap();
    for (const [key, dueAtMs] of Object.entries({ c: 30, a: 10, b: 20, d: 40 })) heap.set(key, dueAtMs);
    expect([heap.size, heap.earliestMs(), heap.takeDue(5)]).toEqual([4, 10, []]);
    expect(heap.takeDue(30)).toEqual(['a', 'b', 'c']);
    expect([heap.size, heap.earliestMs(), heap.dueAtMs('d'), heap.dueAtMs('a')]).toEqual([1, 40, 40, undefined]);
  });

  it('have one time each: the last that was set', () => {
    const heap = new DueHeap();
    heap.set('a', 10);
    heap.set('a', 50);
    expect([heap.size, heap.takeDue(10), heap.takeDue(50)]).toEqual([1, [], ['a']]);
    heap.set('a', 60);
    heap.delete('a');
    expect([heap.earliestMs(), heap.takeDue(100)]).toEqual([undefined, []]);
  });

  it('behave like a sorted list, whatever is set, deleted and taken', () => {
    const change = fc.record({
      key: fc.integer({ min: 0, max: 20 }).map(String),
      what: fc.constantFrom('set' as const, 'delete' as const, 'take' as const),
      atMs: fc.integer({ min: 0, max: 50 }),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 400 }), (changes) => {
        const heap = new DueHeap();
        const model = new Map<string, number>();
        for (const { key, what, atMs } of changes) {
          if (what === 'set') {
            heap.set(key, atMs);
            model.set(key, atMs);
          } else if (what === 'delete') {
            heap.delete(key);
            model.delete(key);
          } else {
            const due = [...model].filter(([, dueAtMs]) => dueAtMs <= atMs).map(([one]) => one);
            for (const one of due) model.delete(one);
            expect(heap.takeDue(atMs).toSorted()).toEqual(due.toSorted());
          }
          expect([heap.size, heap.earliestMs()]).toEqual([
            model.size,
            model.size === 0 ? undefined : Math.min(...model.values()),
          ]);
        }
      }),
    );
  });
});

describe('the gate of a client', () => {
  it('lets as many calls in as are allowed at once, and the others in the order in which they came', async () => {
    const gate = makeGate({ maxInFlight: 2 }, new FakeClock());
    const entered: string[] = [];
    const leave: (() => void)[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      void gate.enter({}).then((release) => {
        entered.push(name);
        leave.push(release);
      });
    }
    await settle();
    expect(entered).toEqual(['a', 'b']);
    leave[0]?.();
    await settle();
    expect(entered).toEqual(['a', 'b', 'c']);
    leave[1]?.();
    await settle();
    expect(entered).toEqual(['a', 'b', 'c', 'd']);
  });

  it('gives the place of a caller that gave up while it waited to the next one', async () => {
    const gate = makeGate({ maxInFlight: 1 }, new FakeClock());
    const release = await gate.enter({});
    const impatient = new AbortController();
    const refused = gate.enter({ signal: impatient.signal }).catch((error: unknown) => error);
    let hasEntered = false;
    void gate.enter({}).then(() => (hasEntered = true));
    impatient.abort();
    expect(await refused).toMatchObject({ status: 0, reason: 'Aborted' });
    release();
    await settle();
    expect(hasEntered).toBe(true);
  });

  it('refuses a caller that had given up before it came', async () => {
    const gate = makeGate({}, new FakeClock());
    await expect(gate.enter({ signal: AbortSignal.abort() })).rejects.toMatchObject({ reason: 'Aborted' });
  });

  it('holds calls to the rate beyond the burst', async () => {
    const clock = new FakeClock();
    const gate = makeGate({ maxInFlight: 10, rate: { perSecond: 10, burst: 1 } }, clock);
    let entered = 0;
    for (let call = 0; call < 3; call += 1) void gate.enter({}).then(() => (entered += 1));
    await clock.advance(0);
    expect(entered).toBe(1);
    await clock.advance(100);
    expect(entered).toBe(2);
    await clock.advance(100);
    expect(entered).toBe(3);
  });
});

describe('the time limit of a request', () => {
  it('ends it with a TimeoutError that names the time', async () => {
    const clock = new FakeClock();
    const limit = timeLimit(clock, 250, undefined);
    await clock.advance(249);
    expect(limit.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(limit.signal.reason).toMatchObject({ name: 'TimeoutError', message: 'no answer within 250 ms' });
  });

  it('does not count after the head of a stream has arrived, but the caller can still end it', async () => {
    const clock = new FakeClock();
    const caller = new AbortController();
    const limit = timeLimit(clock, 250, caller.signal);
    limit.headArrived();
    await clock.advance(10_000);
    expect(limit.signal.aborted).toBe(false);
    caller.abort();
    expect(limit.signal.reason).toMatchObject({ name: 'AbortError' });
  });

  it('ends at once for a caller that has given up already', () => {
    expect(timeLimit(new FakeClock(), 250, AbortSignal.abort()).signal.aborted).toBe(true);
  });

  it('leaves no timer and no listener behind when the request is done', () => {
    const clock = new FakeClock();
    const caller = new AbortController();
    const limit = timeLimit(clock, 250, caller.signal);
    limit.done();
    caller.abort();
    expect([clock.pending, limit.signal.aborted]).toEqual([0, false]);
  });
});
