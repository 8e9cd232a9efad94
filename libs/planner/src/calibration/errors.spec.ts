import { ALL_PYTORCH, CalibrationErrors, errorsLike, memoryErrorsLike, type ErrorCell } from './errors.ts';
import { ERRORS } from './fitted.ts';

const cell = (n: number, name: Partial<ErrorCell> = {}): ErrorCell => ({
  kind: 'dense',
  n,
  medianAbsPct: 1,
  p90AbsPct: 2,
  low: 0.9,
  high: 1.1,
  ...name,
});
const engineFamily = 'engine';
const INVENTED: CalibrationErrors = {
  families: [engineFamily, 'rare', 'deepspeed'],
  groupsLeftOut: [
    cell(1),
    cell(2, { kind: 'experts' }),
    cell(3, { engineFamily }),
    cell(4, { engineFamily, chip: 'gh100' }),
    cell(5, { engineFamily, chip: 'gh100', kind: 'experts' }),
  ],
  sourcesLeftOut: [cell(6), cell(7, { kind: 'experts' })],
  pytorchEngines: [cell(8), cell(9, { engineFamily: 'torchtitan' })],
  memory: [
    cell(10),
    cell(11, { engineFamily }),
    cell(12, { engineFamily: ALL_PYTORCH }),
    cell(13, { engineFamily: 'torchtitan' }),
  ],
  pairedPct: 3,
};

describe('what is known of a run is told by rows', () => {
  it.each<[string, string, string, boolean, string, number]>([
    ['of its chip, engine and kind', 'gh100', 'engine 26.04', false, 'chip', 4],
    ['of its kind: with experts', 'gh100', 'engine', true, 'chip', 5],
    ['of its engine, where the chip has no cell', 'gb100', 'engine', false, 'engineFamily', 3],
    ['of its engine, where the chip is one that nobody knows', '', 'engine', false, 'engineFamily', 3],
    ['of its kind, where the engine has no cell with experts', 'gb100', 'engine', true, 'allEngines', 2],
    ['of its kind, where the engine has no cell', 'gh100', 'rare 1.0', false, 'allEngines', 1],
    ['of sources left out whole, where the engine was not fitted', 'gh100', 'other 1.0', false, 'otherSources', 6],
    ['of its engine, which runs on PyTorch alone', 'gh100', 'torchtitan v0.3.0', false, 'pytorchEngines', 9],
    ['of all engines on PyTorch, where its own has no cell', 'gh100', 'hugging-face', false, 'pytorchEngines', 8],
    ['of all engines on PyTorch, though its own was fitted', 'gh100', 'deepspeed', false, 'pytorchEngines', 8],
    ['of sources left out whole, with experts', 'gh100', 'unnamed', true, 'otherSources', 7],
  ])('%s', (...[, chip, stack, hasExperts, standsOn, n]) => {
    expect(errorsLike(INVENTED, { chip, stack, hasExperts })).toMatchObject({ standsOn, n });
  });

  it.each<[string, string, string, number]>([
    ['of its engine', 'engine 26.04', 'engineFamily', 11],
    ['of its engine on PyTorch', 'torchtitan', 'pytorchEngines', 13],
    ['of all engines on PyTorch, where its own has no cell', 'deepspeed', 'pytorchEngines', 12],
    ['of all engines, where its own has no cell', 'other', 'allEngines', 10],
  ])('are, for memory, %s', (...[, stack, standsOn, n]) => {
    expect(memoryErrorsLike(INVENTED, { chip: 'gh100', stack, hasExperts: false })).toMatchObject({ standsOn, n });
  });

  it('ships in the form of its schema, with rows behind every figure', () => {
    const shipped = CalibrationErrors.parse(ERRORS);
    for (const { n, medianAbsPct, low, high } of [...shipped.groupsLeftOut, ...shipped.sourcesLeftOut]) {
      expect(n).toBeGreaterThanOrEqual(20);
      expect(medianAbsPct).toBeGreaterThan(0);
      expect(high - low).toBeGreaterThan(0.05);
    }
  });

  it('knows the difference between two layouts better than the time of either on machines that nobody measured', () => {
    const unseen = errorsLike(ERRORS, { chip: 'gh100', stack: 'an engine of tomorrow', hasExperts: false });
    expect(ERRORS.pairedPct).toBeLessThan(unseen.medianAbsPct / 2);
  });
});
