import { anAttempt } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { recommendedSaves } from './recommended-saves.ts';

const layout = aLayout({ dataParallelDegree: 4 });

describe('the recommended interval between saves', () => {
  it('follows from the mean of all measured saves and the failures of the job', () => {
    const [slow, quick] = [8_000, 2_000].map((betweenStepsMs) =>
      anAttempt({ layout, pace: { steps: 100, inStepsMs: 1_000_000, betweenStepsMs, saves: 2 } }),
    );
    const found = recommendedSaves([slow, quick].flatMap((one) => one ?? []));
    expect(found).toMatchObject({ secondsPerSave: 2.5, saves: 4, failures: 0 });
    expect(found?.everySeconds).toBeCloseTo((found?.everySteps ?? 0) * 10);
  });

  it.each([
    ['a job that has not started', []],
    [
      'a job that saved nothing',
      [anAttempt({ layout, pace: { steps: 9, inStepsMs: 9, betweenStepsMs: 9, saves: 0 } })],
    ],
  ])('is unknown for %s', (_what, attempts) => {
    expect(recommendedSaves(attempts)).toBeNull();
  });
});
