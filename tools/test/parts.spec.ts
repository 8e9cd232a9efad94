import {
  chosenFiles,
  INTEGRATION,
  lanesOf,
  LINT,
  LONG_TESTS,
  needsOf,
  PYTHON,
  TYPECHECK,
  UNIT,
  type Choice,
  type Part,
} from './parts.ts';

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

describe('the files of a run', () => {
  const longIn = (choice: Choice): readonly string[] =>
    chosenFiles(INTEGRATION, choice).filter((path) => LONG_TESTS.includes(path));

  it('are all of them unless somebody says otherwise, with what the longest need', () => {
    expect(longIn({ filters: [] })).toEqual(LONG_TESTS);
    expect(needsOf(INTEGRATION, { filters: [] })).toContain('upstream-engines');
  });

  it('are not those that are left to another run, and what those need is not set up', () => {
    const choice = { filters: [], without: LONG_TESTS };
    expect(longIn(choice)).toEqual([]);
    expect(chosenFiles(INTEGRATION, choice)).toHaveLength(
      chosenFiles(INTEGRATION, { filters: [] }).length - LONG_TESTS.length,
    );
    expect(needsOf(INTEGRATION, choice)).not.toContain('upstream-engines');
  });

  it('are those whose path is named in part', () => {
    expect(longIn({ filters: ['e2e/kill'] })).toEqual(['e2e/kills.itest.ts']);
  });
});
