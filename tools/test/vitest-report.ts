import { writeFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import type { TestReport } from './results.ts';

/** Names the file that the report is written to. */
export const REPORT_VARIABLE = 'COXSWAIN_TEST_REPORT';

/** Writes what Vitest found, with the time that each file took from loading to its last hook. */
export default class VitestReport implements Reporter {
  readonly #files: TestReport['testResults'][number][] = [];

  onTestModuleEnd(module: TestModule): void {
    this.#files.push(fileOf(module, Date.now()));
  }

  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly { readonly message: string }[]): void {
    const path = process.env[REPORT_VARIABLE];
    if (path === undefined) return;
    const outside = unhandled.map(({ message }) => brokenOutside(message));
    writeFileSync(path, JSON.stringify({ testResults: [...this.#files, ...outside] } satisfies TestReport));
  }
}

function fileOf(module: TestModule, endTime: number): TestReport['testResults'][number] {
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  const errors = module.errors().map(({ message }) => message);
  return {
    name: module.moduleId,
    status: module.ok() ? 'passed' : 'failed',
    message: errors.join('\n'),
    startTime: endTime - collectDuration - setupDuration - duration,
    endTime,
    assertionResults: [...module.children.allTests()].map((test) => {
      const { state, errors: failures = [] } = test.result();
      return {
        status: state,
        fullName: fullNameOf(test),
        failureMessages: failures.map(({ message, stack }) => stack ?? message),
      };
    }),
  };
}

/** The names of a test and of what it stands in, joined. */
function fullNameOf(test: TestCase): string {
  const names = [test.name];
  for (let outer = test.parent; outer.type === 'suite'; outer = outer.parent) names.unshift(outer.name);
  return names.join(' ');
}

/** An error that no test can be blamed for, such as a rejection that nobody awaited. */
function brokenOutside(message: string): TestReport['testResults'][number] {
  return {
    name: 'outside of every test',
    status: 'failed',
    message,
    startTime: Date.now(),
    endTime: Date.now(),
    assertionResults: [],
  };
}
