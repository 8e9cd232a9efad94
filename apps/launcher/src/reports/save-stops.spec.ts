import type { SaveStop } from '@coxswain/api-types';
import { SaveStops } from './save-stops.ts';

/** Steps of 100 ms each, unless `slow` says how long a step took. */
function measured(
  saves: readonly number[],
  { slow = {}, steps = 12 }: { readonly slow?: Readonly<Record<number, number>>; readonly steps?: number } = {},
): readonly SaveStop[] {
  const stops = new SaveStops();
  let atMs = 0;
  for (let step = 1; step <= steps; step++) {
    atMs += slow[step] ?? 100;
    stops.noteStep(step, atMs);
    if (saves.includes(step)) stops.noteSave(step);
  }
  return stops.measured;
}

it.each<[what: string, found: readonly SaveStop[], want: readonly SaveStop[]]>([
  ['how much longer the step after the save took', measured([5], { slow: { 6: 1_600 } }), [{ step: 5, ms: 1_500 }]],
  ['0 of a save that held nothing up', measured([5], { slow: { 6: 90 } }), [{ step: 5, ms: 0 }]],
  [
    'a save that is named by the number of the step before',
    measured([5], { slow: { 7: 1_600 } }),
    [{ step: 5, ms: 1_500 }],
  ],
  ['nothing of a save that no step has followed', measured([12]), []],
  ['nothing without a usual pace', measured([1], { steps: 3 }), []],
  [
    'every save by itself',
    measured([4, 8], { slow: { 5: 400, 9: 900 } }),
    [
      { step: 4, ms: 300 },
      { step: 8, ms: 800 },
    ],
  ],
])('measures %s', (_what, found, want) => {
  expect(found).toEqual(want);
});

it('measures a save that is found after the steps that followed it, keeps the newest eight, and forgets ranks that are gone', () => {
  const stops = new SaveStops();
  for (let step = 1; step <= 60; step++) stops.noteStep(step, step * 100);
  for (let step = 4; step <= 40; step += 4) stops.noteSave(step);
  expect(stops.measured.map(({ step }) => step)).toEqual([12, 16, 20, 24, 28, 32, 36, 40]);
  stops.begin();
  expect(stops.measured).toEqual([]);
});
