import type { PlaceBounds } from './shared-places.ts';
import { TurnGate } from './turn-gate.ts';

const BOUNDS: PlaceBounds = {
  places: 1,
  ofTenant: 1,
  ofMember: 1,
  slow: 1,
  slowOfTenant: 1,
  waiting: 4,
  waitingOfTenant: 2,
  quickInARow: 1,
};
const of = (tenant: string) => ({ tenant, member: tenant, isSlow: false });

/** A gate with one place, and the timers that it set. */
class Setup {
  readonly timers = new Set<() => void>();
  readonly done: string[] = [];
  readonly gate = new TurnGate({
    bounds: BOUNDS,
    waitMs: 60_000,
    setTimer: (_delayMs, fire) => {
      this.timers.add(fire);
      return () => this.timers.delete(fire);
    },
    busy: (why) => new Error(why),
  });

  /** The first letter is the tenant. */
  work = (name: string, result: Promise<void> = Promise.resolve()) => {
    return (): Promise<void> => {
      this.done.push(name);
      return result;
    };
  };

  ask(name: string, signal?: AbortSignal): Promise<void> {
    return this.gate.pass(of(name.charAt(0)), this.work(name), signal);
  }
}

describe('work at a few places', () => {
  it('is done in turns of tenants, also after work that failed or threw', async () => {
    const { gate, done, work, timers } = new Setup();
    const throwing = (): Promise<void> => {
      done.push('a2');
      throw new Error('thrown');
    };
    const all = [
      gate.pass(of('a'), work('a1', Promise.reject(new Error('failed')))),
      gate.pass(of('a'), throwing),
      gate.pass(of('a'), work('a3')),
      gate.pass(of('b'), work('b1')),
    ];
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(done).toEqual(['a1', 'b1', 'a2', 'a3']);
    expect(gate.load).toEqual({ held: 0, waiting: 0 });
    expect(timers.size).toBe(0);
  });

  it('runs at once or not at all if it does not wait', async () => {
    const { gate, done, work } = new Setup();
    const held = Promise.withResolvers<void>();
    const first = gate.passNow(of('a'), work('a1', held.promise));
    expect(gate.passNow(of('b'), work('b1'))).toBeUndefined();
    expect(done).toEqual(['a1']);
    held.resolve();
    await first;
    await gate.passNow(of('b'), work('b2'));
    expect(done).toEqual(['a1', 'b2']);
  });

  it.each<[string, string, (setup: Setup) => Promise<void>]>([
    [
      'when the wait is over',
      'late',
      (setup) => {
        const waiting = setup.ask('b');
        for (const fire of setup.timers) fire();
        return waiting;
      },
    ],
    [
      'when its signal aborts',
      'gone',
      (setup) => {
        const gone = new AbortController();
        const waiting = setup.ask('b', gone.signal);
        gone.abort();
        return waiting;
      },
    ],
    ['when its signal has aborted', 'gone', (setup) => setup.ask('b', AbortSignal.abort())],
    [
      'when too many of the tenant wait',
      'tenantIsFull',
      (setup) => {
        for (let index = 0; index < 2; index += 1) setup.ask(`b${index}`).catch(() => undefined);
        return setup.ask('b');
      },
    ],
    [
      'when too many wait in all, and none of another tenant has more',
      'isFull',
      (setup) => {
        for (const name of ['b', 'c', 'd', 'e']) setup.ask(name).catch(() => undefined);
        return setup.ask('f');
      },
    ],
    [
      'when a tenant with fewer needs its place in the queue',
      'tenantIsFull',
      (setup) => {
        setup.ask('b0').catch(() => undefined);
        const displaced = setup.ask('b1');
        for (const name of ['c', 'd', 'e']) setup.ask(name).catch(() => undefined);
        return displaced;
      },
    ],
  ])('is rejected %s', async (_sentence, why, ask) => {
    const setup = new Setup();
    const held = Promise.withResolvers<void>();
    const first = setup.gate.pass(of('a'), setup.work('a', held.promise));
    const waiting = setup.gate.load.waiting;
    await expect(ask(setup)).rejects.toThrow(why);
    expect(waiting).toBe(0);
    expect(setup.done).toEqual(['a']);
    held.resolve();
    await first;
  });
});
