import { globSync } from 'node:fs';
import { ROOT } from './run-supervised.ts';
import {
  chosenFiles,
  CLUSTER_TESTS,
  DATABASE_TESTS,
  INTEGRATION,
  lanesOf,
  LINT,
  LONG_TESTS,
  needsOf,
  PYTHON,
  SLOW_ON_TWO_CORES,
  SYSTEM_TESTS,
  TYPECHECK,
  UNIT,
  type Choice,
  type Part,
} from './parts.ts';

describe('what runs side by side', () => {
  const cases: readonly [string, readonly Part[], readonly (readonly Part[])[]][] = [
    ['what waits runs beside what computes', [LINT, UNIT, CLUSTER_TESTS], [[LINT, UNIT], [CLUSTER_TESTS]]],
    [
      'systems wait for the database, not for control planes',
      INTEGRATION,
      [[DATABASE_TESTS, SYSTEM_TESTS], [CLUSTER_TESTS]],
    ],
    ['what computes keeps its order', [TYPECHECK, LINT, UNIT], [[TYPECHECK, LINT, UNIT]]],
    [
      'ranks of PyTorch wait for the control planes before them, not for systems',
      [UNIT, SYSTEM_TESTS, CLUSTER_TESTS, PYTHON],
      [[UNIT], [SYSTEM_TESTS], [CLUSTER_TESTS, PYTHON]],
    ],
    ['one part alone is one list', [SYSTEM_TESTS], [[SYSTEM_TESTS]]],
    ['nothing is no list', [], []],
  ];

  it.each(cases)('%s', (_, parts, lanes) => {
    expect(lanesOf(parts)).toEqual(lanes);
  });
});

describe('the files of a run', () => {
  it('are each of one part', () => {
    const every = globSync('{libs,apps,dev,research,tools,migrations,e2e}/**/*.itest.ts', {
      cwd: ROOT,
      exclude: ['**/node_modules/**'],
    });
    expect(INTEGRATION.flatMap((part) => chosenFiles(part, { filters: [] })).sort()).toEqual(every.sort());
  });

  const longIn = (choice: Choice): readonly string[] =>
    chosenFiles(SYSTEM_TESTS, choice).filter((path) => LONG_TESTS.includes(path));

  it('are all of them unless somebody says otherwise, with what the longest need', () => {
    expect(longIn({ filters: [] })).toEqual(LONG_TESTS);
    expect(needsOf(SYSTEM_TESTS, { filters: [] })).toContain('upstream-engines');
  });

  it('are not those that are left to another run, and what those need is not set up', () => {
    const choice = { filters: [], without: LONG_TESTS };
    expect(longIn(choice)).toEqual([]);
    expect(chosenFiles(SYSTEM_TESTS, choice)).toHaveLength(
      chosenFiles(SYSTEM_TESTS, { filters: [] }).length - LONG_TESTS.length,
    );
    expect(needsOf(SYSTEM_TESTS, choice)).not.toContain('upstream-engines');
  });

  it('are all there where .ci/run leaves out slow ones', () => {
    const files = INTEGRATION.flatMap((part) => chosenFiles(part, { filters: [] }));
    expect(SLOW_ON_TWO_CORES.filter((path) => !files.includes(path) || LONG_TESTS.includes(path))).toEqual([]);
  });

  it('are those whose path is named in part', () => {
    expect(longIn({ filters: ['e2e/kill'] })).toEqual(['e2e/kills.itest.ts']);
  });
});
