import type { Attempt } from '@coxswain/api-types';
import { anAttempt } from '../testing/jobs.ts';
import { isPauseOver, launcherOrders, type LauncherOrder, type PlacedLauncher } from './launcher-orders.ts';

type Testimony = Pick<PlacedLauncher, 'state' | 'incarnation'> & { readonly epoch?: number };

const waiting: Testimony = { state: 'waiting', incarnation: 0 };
const running = (incarnation: number): Testimony => ({ state: 'running', incarnation });
const reaped = (incarnation: number): Testimony => ({ state: 'reaped', incarnation });
const endRanks = (incarnation: number): LauncherOrder => ({ kind: 'endRanks', epoch: 1, incarnation });
const assign: LauncherOrder = { kind: 'assign' };
const nothing = undefined;

function ordersOf(
  attempt: Partial<Attempt>,
  reports: readonly Testimony[],
  isDue: boolean,
): readonly (LauncherOrder | undefined)[] {
  const launchers = new Map(
    reports.map((one, podIndex) => [`pod-${podIndex}`, { epoch: 1, podIndex, ...one }] as const),
  );
  const orders = launcherOrders({ attempt: anAttempt(attempt), podCount: 2, launchers, isDue });
  return reports.map((_, podIndex) => orders.get(`pod-${podIndex}`));
}

describe('launchers of a gang of two pods are told', () => {
  it.each<[string, Partial<Attempt>, readonly Testimony[], readonly (LauncherOrder | undefined)[]]>([
    ['their ranks as each comes, in the first incarnation', {}, [waiting], [assign]],
    ['nothing more once they have them', {}, [running(1), waiting], [nothing, assign]],
    ['nothing when the first failure is not answered yet', {}, [reaped(1), running(1)], [nothing, nothing]],
    [
      'to end an earlier incarnation, and nobody begins the next one before all have',
      { incarnation: 2 },
      [reaped(1), running(1)],
      [nothing, endRanks(1)],
    ],
    ['to begin the next one when all have reaped', { incarnation: 2 }, [reaped(1), reaped(1)], [assign, assign]],
    ['to begin where one never began', { incarnation: 2 }, [reaped(1), waiting], [assign, assign]],
    ['to begin where another one has begun already', { incarnation: 2 }, [running(2), reaped(1)], [nothing, assign]],
    ['nothing while one has not been heard of', { incarnation: 2 }, [reaped(1)], [nothing]],
    ['to end what runs two incarnations back', { incarnation: 3 }, [running(1), reaped(2)], [endRanks(1), nothing]],
    ['nothing by one who knows less than they do', { incarnation: 2 }, [running(3), running(3)], [nothing, nothing]],
    ['nothing before the gates are recorded as lifted', { stage: 'Creating' }, [waiting], [nothing]],
    ['nothing when the gang is on its way out', { stage: 'Stopping', outcome: 'Suspended' }, [waiting], [nothing]],
    ['nothing when it has failed', { outcome: 'Failed', reason: 'EngineFailed' }, [waiting], [nothing]],
    ['nothing of another epoch', {}, [{ ...waiting, epoch: 2 }], [nothing]],
  ])('%s', (_sentence, attempt, reports, want) => {
    expect(ordersOf(attempt, reports, true)).toEqual(want);
  });

  it('to end at once, but to begin only when the pause is over', () => {
    expect(ordersOf({ incarnation: 2 }, [reaped(1), running(1)], false)).toEqual([nothing, endRanks(1)]);
    expect(ordersOf({ incarnation: 2 }, [reaped(1), reaped(1)], false)).toEqual([nothing, nothing]);
    expect(ordersOf({}, [waiting, waiting], false)).toEqual([assign, assign]);
  });

  it('to begin where another one was given it, although a third one has not been heard of by this leader', () => {
    const launchers = new Map([
      ['a', { epoch: 1, podIndex: 0, ...running(2) }],
      ['b', { epoch: 1, podIndex: 1, ...reaped(1) }],
    ]);
    const orders = launcherOrders({ attempt: anAttempt({ incarnation: 2 }), podCount: 3, launchers, isDue: true });
    expect([...orders]).toEqual([['b', assign]]);
  });

  it('nothing where no attempt is recorded', () => {
    const launchers = new Map([['pod-0', { epoch: 1, podIndex: 0, ...waiting }]]);
    expect(launcherOrders({ attempt: undefined, podCount: 1, launchers, isDue: true }).size).toBe(0);
  });
});

describe('the pause before a restart', () => {
  const now = new Date('2026-01-01T00:20:00Z');
  it.each<[string, string | undefined, boolean]>([
    ['is over where none is recorded', undefined, true],
    ['is over where none can be read', 'soon', true],
    ['is over when its time has come', '2026-01-01T00:20:00Z', true],
    ['lasts until then', '2026-01-01T00:20:05Z', false],
    ['lasts at most as long as any', '2026-01-01T00:25:00Z', false],
    ['is none where another clock wrote it, an hour ahead', '2026-01-01T01:20:00Z', true],
  ])('%s', (_sentence, notBefore, want) => {
    expect(isPauseOver({ notBefore, delaySeconds: 5 }, now)).toBe(want);
  });
});
