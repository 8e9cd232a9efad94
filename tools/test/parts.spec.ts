import { INTEGRATION, lanesOf, LINT, PYTHON, TYPECHECK, UNIT, type Part } from './parts.ts';

describe('what runs side by side', () => {
  const cases: readonly [string, readonly Part[], readonly (readonly Part[])[]][] = [
    ['what waits runs beside what computes', [LINT, UNIT, INTEGRATION], [[INTEGRATION], [LINT, UNIT]]],
    ['what computes keeps its order', [TYPECHECK, UNIT, PYTHON], [[TYPECHECK, UNIT, PYTHON]]],
    ['one part alone is one list', [INTEGRATION], [[INTEGRATION]]],
    ['nothing is no list', [], []],
  ];

  it.each(cases)('%s', (_, parts, lanes) => {
    expect(lanesOf(parts)).toEqual(lanes);
  });
});
