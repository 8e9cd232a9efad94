import { afterAnotherRun, filesToRunAgain } from './run-again.ts';
import { type Failure, summaryLine, type Tally } from './results.ts';

const failed = (file: string, test = 'is fast'): Failure => ({
  name: `${file}: ${test}`,
  message: '\nexpected 1, received 2\n at x',
  file,
  isTest: true,
});
const run = (file: string, tests: readonly string[]) => ({ file, ms: 1, tests });
const LOST = { name: 'lint', message: 'its messages are above' };

describe('the test files that run again, alone', () => {
  it.each<[string, readonly Failure[], readonly string[]]>([
    ['are those that failed', [failed('a'), failed('b')], ['a', 'b']],
    ['are each named once', [failed('a'), failed('a', 'is right')], ['a']],
    ['are none where nothing failed', [], []],
    [
      'are none where more than eight failed: that is the code',
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map((file) => failed(file)),
      [],
    ],
    ['are none where something else failed too, because it decides', [failed('a'), LOST], []],
  ])('%s', (_what, failures, files) => {
    expect(filesToRunAgain(failures)).toEqual(files);
  });
});

describe('what two runs came to', () => {
  const first: Tally = {
    passed: 12,
    failures: [failed('a')],
    files: [run('a', ['is fast', 'is right', 'is there']), run('b', ['x'])],
  };

  it.each<[string, Tally, string, number]>([
    ['a test that passes alone is passed, and named', { passed: 3, failures: [] }, '13 passed, 0 failed', 1],
    ['a test that fails alone too has failed', { passed: 2, failures: [failed('a')] }, '12 passed, 1 failed', 0],
    [
      'another test that fails alone has failed',
      { passed: 2, failures: [failed('a', 'is right')] },
      '12 passed, 1 failed',
      1,
    ],
    ['a file that is not run again has failed', { passed: 0, failures: [LOST] }, '10 passed, 1 failed', 1],
  ])('%s', (_what, again, line, notes) => {
    const both = afterAnotherRun(first, ['a'], again);
    expect([summaryLine(both), both.notes?.length]).toEqual([line, notes]);
  });

  it('says which test is unsteady, and how it failed', () => {
    const { notes } = afterAnotherRun(first, ['a'], { passed: 3, failures: [] });
    expect(notes).toEqual([
      'UNSTEADY: a: is fast failed beside other tests (expected 1, received 2) and passed alone. Mend it: it depends on the speed of the machine, or on its neighbours.',
    ]);
  });

  it('counts a file that did not load at first', () => {
    const broken = {
      passed: 1,
      failures: [{ name: 'a', message: 'boom', file: 'a' }],
      files: [run('a', []), run('b', ['x'])],
    };
    expect(summaryLine(afterAnotherRun(broken, ['a'], { passed: 3, failures: [] }))).toBe('4 passed, 0 failed');
  });

  it('counts a file whose tests passed before it failed outside of them', () => {
    const broken = {
      passed: 3,
      failures: [{ name: 'a', message: 'after', file: 'a' }],
      files: [run('a', ['x', 'y']), run('b', ['z'])],
    };
    expect(summaryLine(afterAnotherRun(broken, ['a'], { passed: 2, failures: [] }))).toBe('3 passed, 0 failed');
  });
});
