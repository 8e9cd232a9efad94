import { CalibrationErrors, errorFor } from './errors.ts';
import { ERRORS } from './fitted.ts';

const figures = (medianAbsPct: number): CalibrationErrors['known']['dense'] => ({ n: 10, medianAbsPct, p90AbsPct: 99 });
const INVENTED: CalibrationErrors = {
  families: ['engine'],
  known: { dense: figures(1), moe: figures(2) },
  unknown: { dense: figures(3), moe: figures(4) },
  pairedPct: 3,
};

describe('what a prediction says of its error', () => {
  it.each([
    ['is that of fitted dense rows for an engine that was fitted', 'engine 26.04', false, 1],
    ['is that of fitted rows with experts for a model with experts', 'engine', true, 2],
    ['is that of sources left out for an engine that was never fitted', 'other 1.0', false, 3],
    ['is that of sources left out, with experts, for both', 'unnamed', true, 4],
  ])('%s', (_sentence, stack, hasExperts, want) => {
    expect(errorFor(INVENTED, { stack, hasExperts }).medianAbsPct).toBe(want);
  });

  it('ships in the form of its schema, with rows behind every figure', () => {
    const shipped = CalibrationErrors.parse(ERRORS);
    for (const { dense, moe } of [shipped.known, shipped.unknown]) {
      expect(Math.min(dense.n, moe.n)).toBeGreaterThan(100);
      expect(Math.min(dense.medianAbsPct, moe.medianAbsPct)).toBeGreaterThan(0);
    }
  });

  it('knows the difference between two layouts better than the time of either on machines that nobody measured', () => {
    expect(ERRORS.pairedPct).toBeLessThan(ERRORS.unknown.dense.medianAbsPct / 2);
  });
});
