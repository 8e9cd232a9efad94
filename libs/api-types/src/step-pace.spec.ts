import { paceAfter, type StepPace } from './step-pace.ts';

const after = (...times: readonly number[]): number =>
  times.reduce<StepPace | undefined>((pace, stepMs) => paceAfter(pace, stepMs), undefined)?.stepMs ?? Number.NaN;
const repeated = (stepMs: number, count: number): readonly number[] => Array.from({ length: count }, () => stepMs);

describe('the pace of steps', () => {
  it.each<[string, readonly number[], number]>([
    ['is the only step that is known', [30_000], 30_000],
    ['forgets the first step, which compiles', [30_000, 100], 100],
    ['moves by a tenth of what a step differs', [100, 100, 150], 105],
    ['counts a save of ten steps as two steps', [100, 100, 1_000], 110],
    ['goes down by a tenth at most', [100, 100, 0], 90],
    ['of nothing stays nothing', [0, 0, 0], 0],
  ])('%s', (_sentence, times, want) => {
    expect(after(...times)).toBeCloseTo(want, 6);
  });

  it('comes within a tenth of a job that is five times as slow in forty steps', () => {
    expect(after(...repeated(100, 20), ...repeated(500, 40))).toBeGreaterThan(450);
  });
});
