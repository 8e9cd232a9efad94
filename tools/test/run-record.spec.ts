import { compareNames, describeDurations } from './run-record.ts';
import type { FileRun } from './results.ts';

const run = (file: string, seconds: number, ...tests: readonly string[]): FileRun => ({
  file,
  ms: seconds * 1000,
  tests,
});

describe('the durations of a run', () => {
  it('name the ten slowest files, slowest first', () => {
    const runs = Array.from({ length: 12 }, (_, index) => run(`file-${index}.py`, index));
    const lines = describeDurations(runs).trimEnd().split('\n');
    expect(lines).toHaveLength(11);
    expect([lines[1], lines[10]]).toEqual(['   11.0 s  file-11.py', '    2.0 s  file-2.py']);
  });

  it.each([
    ['a unit test above 20 s', run('a.spec.ts', 21), '   21.0 s  a.spec.ts (budget 20 s)'],
    ['an integration test above 120 s', run('a.itest.ts', 121), '  121.0 s  a.itest.ts (budget 120 s)'],
    ['no unit test of 20 s', run('a.spec.ts', 20), undefined],
    ['no integration test of 21 s', run('a.itest.ts', 21), undefined],
    ['no Python test, which has no budget', run('a.py', 900), undefined],
  ])('report %s as above its budget', (_sentence, file, want) => {
    expect(
      describeDurations([file])
        .split('\n')
        .find((line) => line.includes('(budget ')),
    ).toBe(want);
  });

  it('are nothing where no file ran', () => {
    expect(describeDurations([])).toBe('');
  });
});

describe('the names of two runs', () => {
  it.each([
    ['are the same in another order', [run('a', 1, 'x', 'y')], [run('a', 1, 'y', 'x')], []],
    ['are the same where a test moved to another file', [run('a', 1, 'x')], [run('b', 1, 'x')], []],
    ['show a test that is gone', [run('a', 1, 'x', 'y')], [run('a', 1, 'x')], ['- y']],
    ['show a test that is new', [run('a', 1)], [run('a', 1, 'x')], ['+ x']],
    ['count a name that two files have', [run('a', 1, 'x'), run('b', 1, 'x')], [run('a', 1, 'x')], ['- x']],
  ])('%s', (_sentence, before, after, want) => {
    expect(compareNames(before, after)).toEqual(want);
  });
});
