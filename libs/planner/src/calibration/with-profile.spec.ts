import { aCandidate } from '../testing/candidates.ts';
import { aRun } from '../testing/runs.ts';
import { predictStepTime } from '../time/step-time.ts';
import type { ClusterProfile, ProfileFactor } from '../cluster-profile.ts';
import { constantsFor } from './calibration.ts';
import { CALIBRATION } from './fitted.ts';
import { unknownConstantsOf, WHOLE_STEP, withProfile } from './with-profile.ts';

const UNKNOWN_ENGINE = 'an engine of our own';
const [FITTED_FAMILY = ''] = Object.keys(CALIBRATION.families);
const profileOf = (...factors: ProfileFactor[]): ClusterProfile => ({ name: 'measured here', factors });

describe('constants on a cluster that was measured', () => {
  const usual = constantsFor(CALIBRATION, 'h100-sxm5-80gb', UNKNOWN_ENGINE);
  const cases: readonly [says: string, factor: ProfileFactor, stack: string, times: number][] = [
    ['multiply by its factor', { constant: 'hostLayerS', factor: 2 }, UNKNOWN_ENGINE, 2],
    ['multiply for the engine that is named', { constant: 'hostLayerS', factor: 2, engine: 'mine' }, 'mine 1.2', 2],
    ['are as usual for other engines', { constant: 'hostLayerS', factor: 2, engine: 'mine' }, 'yours 1.2', 1],
    [
      'take what the host was measured to need',
      { constant: 'hostLayerS', factor: 3, isOfHost: true },
      UNKNOWN_ENGINE,
      3,
    ],
    [
      'leave the host of a fitted engine alone',
      { constant: 'hostLayerS', factor: 3, isOfHost: true },
      FITTED_FAMILY,
      1,
    ],
    ['ignore a name that is none', { constant: 'warpSpeed', factor: 3 }, UNKNOWN_ENGINE, 1],
  ];
  it.each(cases)('%s', (_says, factor, stack, times) => {
    const constants = withProfile(usual, profileOf(factor), stack);
    expect(constants.hostLayerS / usual.hostLayerS).toBeCloseTo(times, 9);
    expect(constants.gemmSlowdown).toBe(usual.gemmSlowdown);
  });

  it('multiply one after the other, so that a profile can be laid on another', () => {
    const twice = profileOf({ constant: 'hostLayerS', factor: 2 }, { constant: 'hostLayerS', factor: 1.5 });
    expect(withProfile(usual, twice, UNKNOWN_ENGINE).hostLayerS / usual.hostLayerS).toBeCloseTo(3, 9);
  });

  it.each([
    ['one rank', aCandidate()],
    ['tensor and data ranks', aCandidate({ tensor: 8, data: 4, zeroStage: 1, zeroImplementation: 'distopt' })],
    ['a pipeline', aCandidate({ tensor: 2, pipeline: 4, data: 4, microBatchSize: 2 })],
  ])('stretch the whole step of %s where live jobs say so', (_says, candidate) => {
    const run = aRun({ candidate, model: 'llama-3.1-8b', globalBatchSize: 32, sequenceLength: 2048 });
    const before = predictStepTime(run, usual).stepTimeS;
    const after = predictStepTime(
      run,
      withProfile(usual, profileOf({ constant: WHOLE_STEP, factor: 1.3 }), UNKNOWN_ENGINE),
    );
    expect(after.stepTimeS / before).toBeGreaterThan(1.28);
    expect(after.stepTimeS / before).toBeLessThan(1.32);
  });

  it('are told by name where this planner has no such constant', () => {
    const profile = profileOf({ constant: 'warpSpeed', factor: 3 }, { constant: WHOLE_STEP, factor: 3 });
    expect(unknownConstantsOf(profile)).toEqual(['warpSpeed']);
  });
});
