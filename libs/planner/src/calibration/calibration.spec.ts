import { TIME_CONSTANT_NAMES, TIME_CONSTANTS } from '../time/constants.ts';
import { Calibration, constantsFor, countConstants, familyOfStack } from './calibration.ts';
import { CALIBRATION } from './fitted.ts';

const shared = Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, 1])) as Calibration['shared'];
const CALIBRATED: Calibration = {
  fittedOn: 'invented rows',
  shared,
  gpus: { fast: { compute: 0.5, unfusedAttention: 0.25 } },
  families: { engine: { compute: 3 } },
  stacks: { 'engine 26.04': { compute: 5 } },
};

describe('the constants of a run', () => {
  it.each([
    ['are the shared ones where nothing is known of GPU and stack', 'slow', 'other', 1],
    ['are multiplied for the GPU type', 'fast', 'other', 0.5],
    ['are multiplied for the family of engines', 'slow', 'engine', 3],
    ['of an unknown release are those of its family', 'slow', 'engine 27.01', 3],
    ['are multiplied for GPU type, family and release together', 'fast', 'engine 26.04', 7.5],
  ])('%s', (_sentence, gpu, stack, want) => {
    expect(constantsFor(CALIBRATED, gpu, stack).gemmSlowdown).toBeCloseTo(want, 12);
  });

  it('move together where an adjustment names several', () => {
    const { unfusedSlowdown, scoresFactor, flashSlowdown } = constantsFor(CALIBRATED, 'fast', 'other');
    expect([unfusedSlowdown, scoresFactor, flashSlowdown]).toEqual([0.25, 0.25, 1]);
  });

  it.each([
    ['megatron-bridge 26.04', 'megatron-bridge'],
    ['nemo mlperf 5.1', 'nemo mlperf'],
    ['composer-fsdp', 'composer-fsdp'],
    ['megatron-lm core_v0.15', 'megatron-lm'],
  ])('%s is of family %s', (stack, family) => {
    expect(familyOfStack(stack)).toBe(family);
  });

  it('are counted by what they belong to', () => {
    expect(countConstants(CALIBRATED)).toEqual({
      shared: TIME_CONSTANT_NAMES.length,
      perGpuType: 2,
      perStack: 2,
      total: TIME_CONSTANT_NAMES.length + 4,
    });
  });
});

describe('the fitted calibration', () => {
  it('is what its schema says, so that a constant added or renamed without a fit is noticed', () => {
    expect(Calibration.safeParse(CALIBRATION).error?.issues ?? []).toEqual([]);
  });

  it.each(TIME_CONSTANT_NAMES.map((name) => [name]))(
    '%s stays within a factor of twelve of where it started',
    (name) => {
      const { start } = TIME_CONSTANTS[name];
      expect(Math.abs(Math.log(CALIBRATION.shared[name] / start))).toBeLessThan(Math.log(12));
    },
  );

  it('multiplies by factors that a GPU or an engine can plausibly differ by', () => {
    const factors = [CALIBRATION.gpus, CALIBRATION.families, CALIBRATION.stacks]
      .flatMap((owners) => Object.values(owners))
      .flatMap((adjustments) => Object.values(adjustments));
    expect(Math.min(...factors)).toBeGreaterThan(0.4);
    expect(Math.max(...factors)).toBeLessThan(2.5);
  });
});
