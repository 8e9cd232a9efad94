import { GPU_PRESETS, gpuOf } from '../presets/index.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { calibrationSentence, constantsOf, errorOf } from './calibration-in-use.ts';
import { CALIBRATION, ERRORS } from './fitted.ts';

const EXPERTS = { count: 8, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };

describe('the constants that predictions use', () => {
  it('are the shared ones for a GPU and an engine that nobody measured', () => {
    const gpu = { ...gpuOf('h100'), silicon: 'a chip of tomorrow' };
    expect(constantsOf({ cluster: aCluster(8, { gpu }), stack: 'an engine of tomorrow' })).toEqual(CALIBRATION.shared);
  });

  it.each(Object.keys(CALIBRATION.gpus).map((silicon) => [silicon]))(
    '%s is the chip of a GPU preset, so that its fit is found',
    (silicon) => {
      const gpu = GPU_PRESETS.find((preset) => preset.silicon === silicon);
      if (gpu === undefined) throw new Error(`no preset has the chip ${silicon}`);
      const own = constantsOf({ cluster: aCluster(8, { gpu }), stack: 'an engine of tomorrow' });
      const differs = Object.values(CALIBRATION.gpus[silicon] ?? {}).some((factor) => factor !== 1);
      expect(JSON.stringify(own) !== JSON.stringify(CALIBRATION.shared)).toBe(differs);
    },
  );

  it('never go below nothing', () => {
    for (const stack of Object.keys(CALIBRATION.stacks)) {
      const constants = Object.values(constantsOf({ cluster: aCluster(8), stack }));
      expect(Math.min(...constants)).toBeGreaterThanOrEqual(0);
      expect(constants.every(Number.isFinite)).toBe(true);
    }
  });
});

describe('the error that a prediction names', () => {
  const [fitted = ''] = ERRORS.families;

  it.each([
    [
      'a dense model on a fitted engine',
      fitted,
      {},
      ERRORS.known.dense,
      'dense models that the constants were fitted on',
    ],
    [
      'one with experts',
      fitted,
      { experts: EXPERTS },
      ERRORS.known.moe,
      'mixture-of-experts models that the constants',
    ],
    [
      'a dense model on another engine',
      'other',
      {},
      ERRORS.unknown.dense,
      'dense models from sources that were not fitted',
    ],
    [
      'one with experts there',
      'other',
      { experts: EXPERTS },
      ERRORS.unknown.moe,
      'mixture-of-experts models from sources',
    ],
  ])('is that of %s', (...[, stack, sizes, figures, basis]) => {
    const error = errorOf(aRun({ stack, model: aModel(sizes) }));
    expect(error).toMatchObject(figures);
    expect(error.basis).toContain(basis);
  });

  it('is larger where nothing was fitted', () => {
    expect(ERRORS.unknown.dense.medianAbsPct).toBeGreaterThan(ERRORS.known.dense.medianAbsPct);
  });

  it('stands beside what was fitted, in a sentence', () => {
    expect(calibrationSentence()).toMatch(/^Fitted on .*\d+ .*\.$/);
  });
});
