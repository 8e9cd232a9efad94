/** Packed documents are priced by the keys that their tokens attend to, in time and in model FLOPs alike. */
import { CALIBRATION } from '../calibration/fitted.ts';
import { constantsFor } from '../calibration/calibration.ts';
import { modelFlopsPerToken } from './predict-run.ts';
import { aModel, aRun } from '../testing/runs.ts';
import { meanKeysOf } from '../time/attended-keys.ts';
import { predictStepTime } from '../time/step-time.ts';

const windowed = aModel({ attentionWindow: 256, windowedLayers: 8 });

it.each([
  ['a sample of its own', {}, 2048],
  ['documents of a quarter of it', { documentTokens: 1024 }, 512],
  ['documents that are longer than the sample', { documentTokens: 9000 }, 2048],
  ['a window', { model: windowed }, 256 * (1 - 256 / 8192)],
  ['a window in documents that are shorter than it', { model: windowed, documentTokens: 128 }, 64],
])('a query attends to the keys of %s', (_what, facts, keys) => {
  expect(meanKeysOf(aRun({ sequenceLength: 4096, ...facts }))).toBeCloseTo(keys, 9);
});

it('packed documents take less time than a sample, and more than no attention at all', () => {
  const seconds = (documentTokens: number): number => {
    const run = aRun({ model: 'llama-3.1-8b', sequenceLength: 65_536, documentTokens });
    return predictStepTime(run, constantsFor(CALIBRATION, run.cluster.gpu.silicon, run.stack)).stepTimeS;
  };
  const [long, middle, short] = [65_536, 8192, 1024].map(seconds) as [number, number, number];
  expect(middle).toBeLessThan(0.8 * long);
  expect(short).toBeLessThan(middle);
  expect(short).toBeGreaterThan(0.2 * long);
});

it('model FLOPs of attention shrink with its keys', () => {
  const flops = (documentTokens: number): number =>
    modelFlopsPerToken(aRun({ model: 'llama-3.1-8b', sequenceLength: 8192, documentTokens }));
  expect(flops(8192) - flops(4096)).toBeCloseTo(2 * (flops(4096) - flops(2048)), -3);
});
