import { TrainingProgress } from './training-progress.ts';

type Step = Parameters<TrainingProgress['note']>[0];
const step = (at: number, loss: number | null = null, tokens: number | null = 64): Step => ({
  step: at,
  loss,
  tokens,
});

function progressAt(at: number, steps: readonly Step[], fromStep = 0): ReturnType<TrainingProgress['at']> {
  const progress = new TrainingProgress();
  progress.begin(fromStep);
  for (const one of steps) progress.note(one);
  return progress.at(at);
}

it.each<[what: string, found: ReturnType<typeof progressAt>, want: ReturnType<typeof progressAt>]>([
  ['nothing without a step', progressAt(20, []), undefined],
  [
    'the loss of the step, and the tokens up to it',
    progressAt(2, [step(1, 3), step(2, 2), step(3, 1)]),
    { fromStep: 0, loss: 2, lossStep: 2, tokens: 128 },
  ],
  [
    'the last loss before it, where the engine does not report each step',
    progressAt(20, [step(10, 3), step(19)]),
    { fromStep: 0, loss: 3, lossStep: 10, tokens: 20 * 64 },
  ],
  [
    'no loss of a save after the loss was not finite',
    progressAt(3, [step(1, 3), { ...step(2), notFinite: { loss: 'NaN' } }, step(3)]),
    { fromStep: 0, tokens: 3 * 64 },
  ],
  ['tokens since the ranks began', progressAt(22, [step(21), step(22)], 20), { fromStep: 20, tokens: 128 }],
  [
    'as many tokens for steps without a report as the next one has',
    progressAt(5, [step(10, 1, 100)]),
    { fromStep: 0, tokens: 500 },
  ],
  [
    'no tokens, where a report has none',
    progressAt(2, [step(1, 1, null), step(2, 1)]),
    { fromStep: 0, loss: 1, lossStep: 2 },
  ],
  ['nothing of a step before the first', progressAt(10, [step(21)], 20), undefined],
  ['nothing twice', progressAt(2, [step(1), step(2), step(2), step(1)]), { fromStep: 0, tokens: 128 }],
])('knows %s', (_what, found, want) => {
  expect(found).toEqual(want);
});

it.each<[what: string, unmarked: Parameters<TrainingProgress['at']>[1], want: unknown]>([
  [
    'steps that were reported before its end marker was there',
    { firstMs: 2_500, lastMs: 5_500 },
    { steps: 3, ms: 3_000 },
  ],
  [
    'nothing of a save whose end marker was there before the step after next',
    { firstMs: 2_500, lastMs: 3_999 },
    undefined,
  ],
  ['nothing of a save that was never seen without its end marker', undefined, undefined],
])('a save has %s', (_what, unmarked, want) => {
  const progress = new TrainingProgress();
  progress.begin(0);
  for (const at of [1, 2, 3, 4, 5]) progress.note(step(at), at * 1_000);
  expect([progress.periodSince(2, 5_500), progress.periodSince(9)]).toEqual([
    { firstMs: 2_000, lastMs: 5_500 },
    undefined,
  ]);
  expect(progress.at(2, unmarked)).toEqual({
    fromStep: 0,
    tokens: 128,
    ...(want === undefined ? {} : { duringWrite: want }),
  });
});

it('forgets the steps of ranks that are gone, and the oldest of many', () => {
  const progress = new TrainingProgress();
  progress.begin(0);
  for (let at = 1; at <= 4_097; at++) progress.note(step(at));
  expect([progress.at(10), progress.at(4_097)]).toEqual([undefined, { fromStep: 0, tokens: 4_097 * 64 }]);
  progress.begin(40);
  expect(progress.at(4_097)).toBeUndefined();
});
