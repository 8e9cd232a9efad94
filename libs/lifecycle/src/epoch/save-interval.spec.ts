import type { Attempt, EffectiveSpec } from '@coxswain/api-types';
import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import type { JobRecord } from '../record/job-record.ts';
import { saveInterval } from './save-interval.ts';

const AT = Date.parse('2026-11-25T00:00:00Z');
const HOUR_MS = 3_600_000;
const after = (ms: number): string => new Date(AT + ms).toISOString();

const aSpec = (gpus: number, checkpoint: object = {}): EffectiveSpec =>
  ({
    layout: aLayout({ dataParallelDegree: gpus }),
    checkpoint: { claimName: 'c', path: '', everySteps: 100, interval: 'Auto', ...checkpoint },
  }) as EffectiveSpec;

/** Trained for so many hours on so many GPUs, with steps of 10 s, and saved six times for 30 s each. */
function anAttempt(
  gpus: number,
  { hours = 3, ...given }: Partial<Attempt> & { readonly hours?: number } = {},
): Attempt {
  return {
    epoch: 1,
    stage: 'Ended',
    placement: 'p',
    layout: aLayout({ dataParallelDegree: gpus }),
    startedAt: after(0),
    runningAt: after(0),
    lastStepAt: after(hours * HOUR_MS),
    pace: { steps: 1_000, inStepsMs: 10_000_000, betweenStepsMs: 180_000, saves: 6 },
    outcome: 'Failed',
    ...given,
  };
}

const found = (attempts: readonly Attempt[], spec: EffectiveSpec): ReturnType<typeof saveInterval> =>
  saveInterval({ attempts } as unknown as JobRecord, spec, 2);

describe('how often a job saves that leaves it to us', () => {
  it('is as Young says at the published rate: 13.4 minutes on 16,384 GPUs with stalls of 30 s, a failure each 3.1 h', () => {
    const { everySteps = 0, says = '' } =
      found([anAttempt(16_384, { hours: 0, outcome: 'Cancelled' })], aSpec(16_384)) ?? {};
    expect((everySteps * 10) / 60).toBeCloseTo(13.4, 0);
    expect(says).toMatch(
      /^Saves every \d+ steps, about 1[34] min.*30.0 s \(6 measured\).*every 3 h.*0 of its own failures/,
    );
  });

  it('is more often where the job itself fails more often, and less where it does not', () => {
    const every = (attempts: readonly Attempt[]): number => found(attempts, aSpec(1_024))?.everySteps ?? 0;
    const often = Array.from({ length: 10 }, () => anAttempt(1_024, { hours: 1 }));
    const [rarely, published] = [
      [anAttempt(1_024, { hours: 40, outcome: 'Suspended' })],
      [anAttempt(1_024, { hours: 0 })],
    ];
    expect(every(often)).toBeLessThan(every(published));
    expect(every(published)).toBeLessThanOrEqual(every(rarely));
  });

  it('counts runs that ended in the same pods', () => {
    const incarnations = Array.from({ length: 8 }, (_, index) => ({
      incarnation: index + 1,
      runningAt: after(0),
      endedAt: after(HOUR_MS),
      reason: 'EngineFailed' as const,
      charged: true,
    }));
    expect(found([anAttempt(1_024, { incarnations })], aSpec(1_024))?.says).toMatch(/9 of its own failures/);
  });

  it('is fewer steps on fewer GPUs, whose steps take longer, than the time alone says', () => {
    const [many, few] = [1_024, 512].map((gpus) => found([anAttempt(1_024)], aSpec(gpus))?.everySteps ?? 0);
    expect((few ?? 0) / (many ?? 1)).toBeCloseTo(Math.SQRT2 / 2, 1);
  });

  it('is what the job says until something was measured', () => {
    expect(found([], aSpec(8))).toMatchObject({
      everySteps: 100,
      says: expect.stringMatching(/none has been measured/),
    });
    const unsaved = anAttempt(8, { pace: { steps: 10, inStepsMs: 100, betweenStepsMs: 5, saves: 0 } });
    expect(found([unsaved], aSpec(8))?.everySteps).toBe(100);
  });

  it('is nothing where the job counts its own steps, or saves nothing', () => {
    expect(found([anAttempt(8)], aSpec(8, { interval: 'Steps' }))).toBeUndefined();
    expect(found([anAttempt(8)], { ...aSpec(8), checkpoint: undefined } as unknown as EffectiveSpec)).toBeUndefined();
  });

  it('lies between half a minute and an hour of training, or is a single step, whatever was measured', () => {
    const pace = fc.record({
      steps: fc.integer({ min: 1, max: 1_000_000 }),
      inStepsMs: fc.integer({ min: 0, max: 1_000_000_000 }),
      betweenStepsMs: fc.integer({ min: 0, max: 1_000_000_000 }),
      saves: fc.integer({ min: 1, max: 1_000 }),
    });
    fc.assert(
      fc.property(pace, fc.constantFrom(1, 8, 16_384), (measured, gpus) => {
        const { everySteps = 0 } = found([anAttempt(gpus, { pace: measured })], aSpec(gpus)) ?? {};
        const trainedMs = (everySteps - 0.5) * Math.max(1, measured.inStepsMs / measured.steps);
        expect(everySteps).toBeGreaterThanOrEqual(1);
        expect(everySteps === 1 || trainedMs <= HOUR_MS).toBe(true);
      }),
    );
  });
});
