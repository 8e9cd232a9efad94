import { describeFailures, summaryLine, tallyOfJunit, tallyOfReport, total } from './results.ts';

interface FileResult {
  readonly status?: string;
  readonly message?: string;
  readonly tests?: readonly string[];
}

function reportOf(...files: readonly FileResult[]): string {
  return JSON.stringify({
    testResults: files.map(({ status = 'passed', message = '', tests = [] }, index) => ({
      name: `file${index}.spec.ts`,
      status,
      message,
      startTime: index,
      endTime: index + 1,
      assertionResults: tests.map((result) => ({ status: result, fullName: `is ${result}`, failureMessages: [] })),
    })),
  });
}

describe('test results', () => {
  it.each([
    ['counts what passed', [{ tests: ['passed', 'passed'] }], '2 passed, 0 failed'],
    ['counts what failed', [{ status: 'failed', tests: ['passed', 'failed'] }], '1 passed, 1 failed'],
    ['takes a skipped test for a failure', [{ tests: ['passed', 'pending'] }], '1 passed, 1 failed'],
    ['takes a test that is yet to be written for a failure', [{ tests: ['todo'] }], '0 passed, 1 failed'],
    ['takes a file that does not load for a failure', [{ status: 'failed', message: 'boom' }], '0 passed, 1 failed'],
    ['takes a file without tests for a failure', [{ tests: [] }], '0 passed, 1 failed'],
    ['sees a failure after the last test', [{ status: 'failed', tests: ['passed'] }], '1 passed, 1 failed'],
    ['adds files up', [{ tests: ['passed'] }, { tests: ['passed'] }], '2 passed, 0 failed'],
  ] as const)('%s', (_, files, line) => {
    expect(summaryLine(tallyOfReport(reportOf(...files)))).toBe(line);
  });

  it('takes a file that the report lacks for a failure, as when the process of the runner died', () => {
    const report = reportOf({ tests: ['passed'] });
    const { failures } = tallyOfReport(report, ['file0.spec.ts', 'file1.spec.ts']);
    expect(failures.map(({ name, file }) => [name, file])).toEqual([['file1.spec.ts', 'file1.spec.ts']]);
  });

  it('reads passes, failures, errors and skips from JUnit', () => {
    const tally = tallyOfJunit(
      `<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="4">
      <testcase classname="a.test_b" name="test_good" time="0.1" />
      <testcase classname="a.test_b" name="test_bad"><failure message="assert 1 &lt; 0&#10;E">trace</failure></testcase>
      <testcase classname="a.test_b" name="test_broken"><error message="no module">trace</error></testcase>
      <testcase classname="a.test_b" name="test_skipped"><skipped type="x" message="no GPU" /></testcase>
      <testcase classname="" name="engines.a.test_c"><error message="collection failure">trace</error></testcase>
    </testsuite></testsuites>`,
      ['a/test_b.py'],
    );

    expect(tally).toEqual({
      passed: 1,
      failures: [
        { name: 'a.test_b: test_bad', message: 'assert 1 < 0\nE', file: 'a/test_b.py', isTest: true },
        { name: 'a.test_b: test_broken', message: 'no module', file: 'a/test_b.py', isTest: true },
        { name: 'a.test_b: test_skipped', message: 'no GPU', file: 'a/test_b.py', isTest: true },
        { name: ': engines.a.test_c', message: 'collection failure' },
      ],
      files: [{ file: 'a/test_b.py', ms: 100, tests: ['test_good', 'test_bad', 'test_broken', 'test_skipped'] }],
    });
  });

  it('tells when the file of a failed test ran', () => {
    const { failures } = tallyOfReport(reportOf({ tests: ['passed'] }, { status: 'failed', tests: ['failed'] }));

    expect(failures).toMatchObject([{ name: 'file1.spec.ts: is failed', during: { startMs: 1, endMs: 2 } }]);
  });

  it('describes many failures in few lines, with what was complained about once per file, and the names at the end', () => {
    const during = { startMs: 1, endMs: 2 };
    const message = `\u001b[31mexpected\u001b[39m\n    at new Promise (<anonymous>)\n    at run (/x/node_modules/jest/run.js:1:1)\n${'a line\n'.repeat(100)}`;
    const failures = Array.from({ length: 8 }, (_, index) => ({ name: `test ${index}`, message, during }));
    const lines = describeFailures(failures, ({ endMs }) => [`operator warned at ${endMs}`]).split('\n');

    expect(lines.length).toBeLessThan(120);
    expect(lines).toContain('expected');
    expect(lines.filter((line) => line.startsWith('    at'))).toEqual([]);
    expect(lines.filter((line) => line === 'operator warned at 2')).toHaveLength(1);
    expect(lines.slice(-9, -1)).toEqual(failures.map(({ name }) => `✗ ${name}`));
  });

  it('adds parts up', () => {
    const part = { passed: 2, failures: [{ name: 'x', message: 'y' }] };

    expect(summaryLine(total([part, part]))).toBe('4 passed, 2 failed');
  });
});
