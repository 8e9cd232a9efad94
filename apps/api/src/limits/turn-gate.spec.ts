import type { PlaceBounds } from '@coxswain/units';
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
const aGate = (waitMs = 60_000): TurnGate => new TurnGate({ bounds: BOUNDS, waitMs, busy: () => new Error('busy') });
const of = (tenant: string) => ({ tenant, member: tenant, isSlow: false });

describe('work at a few places', () => {
  it('is done in turns of tenants, also after work that failed', async () => {
    const gate = aGate();
    const done: string[] = [];
    const work = (name: string) => () => {
      done.push(name);
      return name === 'a1' ? Promise.reject(new Error('failed')) : Promise.resolve();
    };
    const all = ['a1', 'a2', 'a3', 'b1'].map((name) => gate.pass(of(name.charAt(0)), work(name)));
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
    expect(done).toEqual(['a1', 'b1', 'a2', 'a3']);
    expect(gate.load).toEqual({ held: 0, waiting: 0 });
  });

  it.each<[string, number, (gate: TurnGate, work: () => Promise<void>) => Promise<void>]>([
    ['when the wait is over', 1, (gate, work) => gate.pass(of('b'), work)],
    [
      'when nobody waits for it any more',
      60_000,
      (gate, work) => {
        const gone = new AbortController();
        const waiting = gate.pass(of('b'), work, gone.signal);
        gone.abort();
        return waiting;
      },
    ],
    [
      'when too many of the tenant wait',
      60_000,
      (gate, work) => {
        for (let index = 0; index < 2; index += 1) gate.pass(of('b'), work).catch(() => undefined);
        return gate.pass(of('b'), work);
      },
    ],
  ])('is rejected %s', async (_sentence, waitMs, ask) => {
    const gate = aGate(waitMs);
    const held = Promise.withResolvers<void>();
    const first = gate.pass(of('a'), () => held.promise);
    let runs = 0;
    await expect(ask(gate, () => Promise.resolve(void (runs += 1)))).rejects.toThrow('busy');
    expect(runs).toBe(0);
    held.resolve();
    await first;
  });
});
