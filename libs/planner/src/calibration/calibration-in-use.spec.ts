import { GPU_PRESETS, gpuOf } from '../presets/index.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { calibrationSentence, constantsOf, errorsOf } from './calibration-in-use.ts';
import { CALIBRATION } from './fitted.ts';

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

describe('the errors that a prediction names', () => {
  const tomorrow = { ...gpuOf('h100'), silicon: 'a chip of tomorrow' };

  it.each<[string, Partial<Parameters<typeof aRun>[0]>, string, RegExp]>([
    [
      'a dense model',
      { stack: 'megatron-lm 0.16', cluster: aCluster(8, { gpu: gpuOf('a100-80gb') }) },
      'chip',
      /dense models with megatron-lm on GA100 chips/,
    ],
    [
      'one with experts',
      { stack: 'megatron-bridge 26.04', model: aModel({ experts: EXPERTS }) },
      'chip',
      /with experts with megatron-bridge on GH100 chips/,
    ],
    [
      'a GPU that nobody measured',
      { stack: 'megatron-lm 0.16', cluster: aCluster(8, { gpu: tomorrow }) },
      'engineFamily',
      /with megatron-lm on all chips, because this chip has fewer than 20/,
    ],
    [
      'an engine with few rows',
      { stack: 'nemo 26.02' },
      'allEngines',
      /with any engine, because this engine has fewer than 20/,
    ],
    [
      'an engine on PyTorch',
      { stack: 'deepspeed 0.19.8' },
      'pytorchEngines',
      /dense models with deepspeed on PyTorch outside the fit, because few runs of this engine are published/,
    ],
    [
      'an engine on PyTorch that nobody measured',
      { stack: 'hugging-face v5.23.0' },
      'pytorchEngines',
      /dense models with engines on PyTorch outside the fit/,
    ],
    [
      'an engine that was never fitted',
      { stack: '<b>mine</b> 1.0' },
      'otherSources',
      /dense models with whole sources left out, because this engine has no measurements/,
    ],
  ])('are, of %s, from rows as near as there are, which it names in words of ours', (_of, run, standsOn, basis) => {
    const { error, interval, peakInterval } = errorsOf(aRun(run), { stepTimeS: 2, peakGib: 40 });
    expect(error.basis).toMatch(basis);
    expect(interval).toMatchObject({ standsOn, coveragePct: 80, rows: error.n });
    expect(interval.lowS).toBeLessThan(2);
    expect(interval.highS).toBeGreaterThan(2);
    expect(peakInterval.lowGib).toBeLessThan(40);
    expect(peakInterval.highGib).toBeGreaterThan(40);
  });

  it('are wider where less is known', () => {
    const widthOf = (run: Partial<Parameters<typeof aRun>[0]>): number => {
      const { lowS, highS } = errorsOf(aRun(run), { stepTimeS: 1, peakGib: 1 }).interval;
      return highS - lowS;
    };
    const known = { stack: 'megatron-lm', cluster: aCluster(8, { gpu: gpuOf('a100-80gb') }) };
    expect(widthOf({ ...known, stack: 'an engine of tomorrow' })).toBeGreaterThan(widthOf(known));
    expect(widthOf({ ...known, cluster: aCluster(8, { gpu: tomorrow }) })).toBeGreaterThan(widthOf(known));
  });

  it('grow with the step', () => {
    const { lowS, highS } = errorsOf(aRun({}), { stepTimeS: 1, peakGib: 1 }).interval;
    expect(errorsOf(aRun({}), { stepTimeS: 10, peakGib: 1 }).interval).toMatchObject({
      lowS: lowS * 10,
      highS: highS * 10,
    });
  });

  it('stands beside what was fitted, in a sentence', () => {
    expect(calibrationSentence()).toMatch(/^Fitted on .*\d+ .*\.$/);
  });
});
