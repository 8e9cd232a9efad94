import type { Attempt } from '@coxswain/api-types';
import { anAttempt } from '@coxswain/api-types/testing';
import { finishedRestart, newestRestart } from './newest-restart.ts';
import { newSaveStops, saveStopsOf } from './save-stops.ts';

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();

/** Its ranks failed at 100 s and started again in their pods; a step came at 120 s. */
const restarting: Attempt = anAttempt({
  incarnation: 2,
  incarnations: [
    { incarnation: 1, endedAt: at(100), reason: 'EngineFailed', charged: true, lastStepAt: at(99), lastStep: 9 },
  ],
});
const restarted: Attempt = {
  ...restarting,
  clock: { reapedAt: at(101), startedAt: at(103), importedAt: at(110), metAt: at(112) },
  firstStep: { step: 8, at: at(120) },
};

describe('the newest restart', () => {
  it('has the phases that were recorded', () => {
    const { phases, total } = newestRestart([restarted]) ?? {};
    expect(total).toBe(21);
    expect(phases?.map(({ seconds }) => seconds)).toEqual([null, 1, 1, 0, 2, 7, 2, null, 8]);
  });

  it.each<[string, readonly Attempt[], readonly Attempt[], number | undefined]>([
    ['comes to its first step', [restarting], [restarted], 21],
    ['has been at its first step before', [restarted], [{ ...restarted, lastStep: 9 }], undefined],
    ['has no step yet', [restarting], [restarting], undefined],
    ['was seen for the first time with its step', [], [restarted], undefined],
    [
      'is of an attempt without a failure',
      [anAttempt()],
      [anAttempt({ firstStep: { step: 1, at: at(1) } })],
      undefined,
    ],
  ])('is measured once: one that %s', (_what, before, after, want) => {
    expect(finishedRestart(before, after)?.total).toBe(want);
  });
});

describe('how long ranks stood still for each save', () => {
  const saves = (...steps: readonly number[]): Attempt =>
    anAttempt({ epoch: 2, clock: { saves: steps.map((step) => ({ step, ms: step * 10 })) } });

  it('is known of every run, oldest first', () => {
    const ended = { ...restarted.incarnations?.[0], clock: { saves: [{ step: 5, ms: 1_500 }] } };
    const attempts = [{ ...restarted, incarnations: [ended] } as Attempt, saves(20)];
    expect(saveStopsOf(attempts)).toEqual([
      { epoch: 1, incarnation: 1, step: 5, seconds: 1.5 },
      { epoch: 2, incarnation: 1, step: 20, seconds: 0.2 },
    ]);
  });

  it('is measured once for each save', () => {
    expect(newSaveStops(saves(20), saves(20, 40)).map(({ step }) => step)).toEqual([40]);
    expect(newSaveStops(undefined, saves(20)).map(({ step }) => step)).toEqual([20]);
    expect(newSaveStops(saves(20), anAttempt())).toEqual([]);
  });
});
