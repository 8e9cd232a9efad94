import type { MemorySave } from '@coxswain/api-types';
import type { ObservedLauncher } from '../observation/observed-launcher.ts';
import { anAttempt } from '../testing/jobs.ts';
import { launcherOrders } from './launcher-orders.ts';
import { memorySaveOfAll } from '../observation/memory-save.ts';

const RESUMED = { checkpoint: 'tiny-e1-s40', step: 40 };
const saved = (step: number, incarnation = 1): MemorySave => ({ incarnation, step });
const reaped = (...memorySaves: readonly MemorySave[]): ObservedLauncher => ({
  epoch: 1,
  incarnation: 1,
  state: 'reaped',
  ...(memorySaves.length === 0 ? {} : { memorySaves }),
});
const running = (incarnation: number): ObservedLauncher => ({ epoch: 1, incarnation, state: 'running' });

describe('the save in memory from which ranks restart', () => {
  it.each<[string, number, readonly (ObservedLauncher | undefined)[], MemorySave | undefined]>([
    ['is the newest that all pods have', 2, [reaped(saved(60), saved(50)), reaped(saved(50), saved(60))], saved(60)],
    ['is the one before if a pod lacks the newest', 2, [reaped(saved(60), saved(50)), reaped(saved(50))], saved(50)],
    ['is none if they have no step in common', 2, [reaped(saved(60)), reaped(saved(50))], undefined],
    ['is none if a pod has none', 2, [reaped(saved(60)), reaped()], undefined],
    ['is none of the same step of another incarnation', 3, [reaped(saved(60, 2)), reaped(saved(60, 1))], undefined],
    ['is none if it is no newer than the checkpoint', 2, [reaped(saved(40)), reaped(saved(40))], undefined],
    ['is not known while ranks run', 2, [reaped(saved(60)), running(1)], undefined],
    ['is not known while a launcher is silent', 2, [reaped(saved(60)), undefined], undefined],
    ['is not changed once ranks have begun', 2, [reaped(saved(60)), running(2)], undefined],
    ['is none in the first incarnation', 1, [reaped(saved(60)), reaped(saved(60))], undefined],
    ['is none of no pods', 2, [], undefined],
  ])('%s', (_sentence, incarnation, launchers, want) => {
    expect(memorySaveOfAll(anAttempt({ incarnation, resumedFrom: RESUMED }), launchers)).toEqual(want);
  });

  it('is none from scratch', () => {
    const { resumedFrom: _, ...attempt } = anAttempt({ incarnation: 2 });
    expect(memorySaveOfAll(attempt, [reaped(saved(60))])).toBeUndefined();
  });

  it.each([
    ['wait until it is recorded', {}, 0],
    ['receive their ranks when it is', { memorySave: saved(60) }, 2],
  ])('launchers %s', (_sentence, recorded, want) => {
    const attempt = anAttempt({ incarnation: 2, resumedFrom: RESUMED, ...recorded });
    const launchers = new Map([0, 1].map((podIndex) => [`pod-${podIndex}`, { podIndex, ...reaped(saved(60)) }]));
    expect(launcherOrders({ attempt, podCount: 2, launchers, isDue: true }).size).toBe(want);
  });

  it('launchers wait for its record beside a standby, which has saved nothing', () => {
    const attempt = anAttempt({ incarnation: 2, resumedFrom: RESUMED });
    const launchers = new Map([
      ['pod-0', { podIndex: 0, ...reaped(saved(60)) }],
      ['standby', { podIndex: 1, ...reaped() }],
    ]);
    const isMember = (podIndex: number): boolean => podIndex === 0;
    expect(launcherOrders({ attempt, podCount: 1, isMember, launchers, isDue: true }).size).toBe(0);
  });
});
