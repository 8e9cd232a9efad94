import { type NodeWindow, windowInTheWay } from '@coxswain/fabric';
import { closedTimes } from './closed-times.ts';

const NOW = new Date('2026-12-01T12:00:00Z');
const HOUR_MS = 3_600_000;
const at = (hours: number): number => NOW.getTime() + hours * HOUR_MS;
const window = (from: number, until: number, rest: Partial<NodeWindow> = {}): NodeWindow => ({
  ...{ name: `${from}-${until}`, fromMs: at(from), untilMs: at(until), heldFromMs: at(from - 24) },
  ...rest,
});

describe('nodes of windows are closed', () => {
  it.each<[string, readonly NodeWindow[], readonly (readonly [from: number, until: number])[]]>([
    ['in the window', [window(2, 4)], [[2, 4]]],
    ['from now on while gangs leave for it', [window(0.1, 4)], [[0, 4]]],
    ['not by a window that is over', [window(-4, -2)], []],
    ['not by one from which nothing is kept yet', [window(30, 40)], []],
    [
      'once where windows overlap',
      [window(2, 5), window(4, 6)],
      [
        [2, 5],
        [5, 6],
      ],
    ],
    ['once by a window within another one', [window(2, 8), window(3, 4)], [[2, 8]]],
  ])('%s', (_sentence, over, want) => {
    const times = closedTimes(new Map([['a', over]]), NOW);
    expect(times.map(({ fromMs, untilMs }) => [fromMs, untilMs])).toEqual(
      want.map(([from, until]) => [at(from), at(until)]),
    );
  });

  it('for a job that the scheduler would not place now, and for no other one', () => {
    const over = [window(2, 4), window(6, 8, { heldFromMs: at(5) }), window(10, 12, { namespace: 'mine' })];
    for (const endHours of [1, 1.9, 2, 2.1, 3, 5, 7, 11, 13]) {
      const keepsOut = closedTimes(new Map([['a', over]]), NOW).some(
        ({ fromMs, namespace }) => namespace !== 'mine' && fromMs < at(endHours),
      );
      const stay = { namespace: 'mine', nowMs: NOW.getTime(), endMs: at(endHours) };
      expect([endHours, keepsOut]).toEqual([endHours, windowInTheWay(over, stay) !== undefined]);
    }
  });
});
