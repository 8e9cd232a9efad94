import { isAbsolute, join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');

/** What one part of the tests came to. */
export interface Tally {
  readonly passed: number;
  readonly failures: readonly Failure[];
  /** What is to be known of a run beside its numbers, a sentence each. */
  readonly notes?: readonly string[];
  /** The test files that ran. */
  readonly files?: readonly FileRun[];
}

/** One run of one test file. */
export interface FileRun {
  /** From the root of the repository. */
  readonly file: string;
  /** From loading it to its last hook. */
  readonly ms: number;
  /** Full names of its tests, as they ran. */
  readonly tests: readonly string[];
}

/** A test that did not pass, and why. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  /** Its test file, from the root of the repository; undefined where it is of none. */
  readonly file?: string;
  /** Whether it is one of the tests of its file; a file that does not load has none. */
  readonly isTest?: boolean;
  /** When its file ran; undefined where nobody tells. */
  readonly during?: Span;
}

/** A time, in ms since 1970. */
export interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** Several tallies as one. */
export function total(tallies: readonly Tally[]): Tally {
  return {
    passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
    failures: tallies.flatMap(({ failures }) => failures),
    notes: tallies.flatMap(({ notes = [] }) => notes),
    files: tallies.flatMap(({ files = [] }) => files),
  };
}

/** A tally as if these files, from the root of the repository, had not run. */
export function withoutFiles(tally: Tally, files: readonly string[]): Tally {
  const isLeft = ({ file }: { readonly file?: string }): boolean => file === undefined || !files.includes(file);
  const ran = (tally.files ?? []).filter((run) => !isLeft(run)).flatMap(({ tests }) => tests).length;
  const failed = tally.failures.filter((failure) => !isLeft(failure) && failure.isTest === true).length;
  return {
    ...tally,
    passed: tally.passed - (ran - failed),
    failures: tally.failures.filter(isLeft),
    files: (tally.files ?? []).filter(isLeft),
  };
}

/** The line that ends every run. */
export function summaryLine({ passed, failures }: Tally): string {
  return `${passed} passed, ${failures.length} failed`;
}

/** What a run of Vitest found, as `vitest-report.ts` writes it. */
export interface TestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/**
 * Counts the results of Vitest. A test that was skipped did not show anything, so it counts as failed; so does a file that
 * does not load, or that fails outside of its tests, and each of `wanted`, from the root of the repository, that the report lacks.
 */
export function tallyOfReport(json: string, wanted: readonly string[] = []): Tally {
  const { testResults } = JSON.parse(json) as TestReport;
  const ran = testResults.map(({ name }) => fromRoot(name));
  const missing = wanted.filter((file) => !ran.includes(file)).map(notRun);
  return total([...testResults.map(tallyOfFile), ...missing]);
}

/** The process of a runner can die with files left to run. */
function notRun(file: string): Tally {
  const message = 'the report of the run does not have this file: the process that was to run it has ended';
  return { passed: 0, failures: [{ name: file, message, file }] };
}

function fromRoot(path: string): string {
  return isAbsolute(path) ? relative(ROOT, path) : path;
}

function tallyOfFile(file: TestReport['testResults'][number]): Tally {
  const where = { during: { startMs: file.startTime, endMs: file.endTime }, file: fromRoot(file.name) };
  const failures = file.assertionResults
    .filter(({ status }) => status !== 'passed')
    .map(({ status, fullName, failureMessages }) => ({
      name: `${file.name}: ${fullName}`,
      message: failureMessages.join('\n') || `it was not run (${status})`,
      isTest: true,
      ...where,
    }));
  const passed = file.assertionResults.length - failures.length;
  const brokenOutside = failures.length === 0 && (file.status !== 'passed' || passed === 0);
  return {
    files: [
      {
        file: fromRoot(file.name),
        ms: Math.round(file.endTime - file.startTime),
        tests: file.assertionResults.map(({ fullName }) => fullName),
      },
    ],
    passed,
    failures: brokenOutside ? [{ name: file.name, message: file.message || 'it holds no test', ...where }] : failures,
  };
}

/** Lines of a report of what failed; a log is often cut to its last hundred. */
const REPORT_LINES = 80;
const LEAST_LINES = 8;
const MOST_LINES = 30;
/** A line of a stack that is not in our code. */
const FOREIGN_FRAME = /^\s+at .*(node_modules\/(?!@coxswain)|\(?node:|new Promise)/;

/**
 * What failed: every message, cut so that all fit in a screen or two, and what programs complained about meanwhile, by `complaints`.
 * The names follow once more at the end, where they are seen first.
 */
export function describeFailures(failures: readonly Failure[], complaints: (span: Span) => readonly string[]): string {
  const lines = Math.min(MOST_LINES, Math.max(LEAST_LINES, Math.floor(REPORT_LINES / failures.length)));
  const message = (text: string): string =>
    stripVTControlCharacters(text)
      .trim()
      .split('\n')
      .filter((line) => !FOREIGN_FRAME.test(line))
      .slice(0, lines)
      .join('\n');
  const listed = failures.map((failure) => `✗ ${failure.name}\n${message(failure.message)}\n`);
  const spans = new Map(
    failures.flatMap(({ during }) => (during === undefined ? [] : [[during.startMs, during] as const])),
  );
  const complained = [...spans.values()].flatMap((span) => complaints(span));
  const meanwhile = complained.length === 0 ? '' : `\nMeanwhile programs said:\n\n${complained.join('\n')}\n`;
  const names = failures.map(({ name }) => `✗ ${name}`).join('\n');
  return `\nWhat failed:\n\n${listed.join('\n')}${meanwhile}\nIn short:\n\n${names}\n`;
}

/** Counts the results that pytest wrote as JUnit XML, by the same rules as {@link tallyOfReport}. */
export function tallyOfJunit(xml: string, known: readonly string[]): Tally {
  const cases = [...xml.matchAll(/<testcase\b([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs)];
  const failures = cases.flatMap(([, attributes = '', body = '']) => {
    const problem = /<(failure|error|skipped)\b([^>]*)>/s.exec(body);
    if (problem === null) return [];
    const file = fileOfCase(attributes, known);
    const message = attribute(problem[2] ?? '', 'message') || (problem[1] ?? '');
    return [{ name: testCaseName(attributes), message, ...(file === undefined ? {} : { file, isTest: true }) }];
  });
  const byFile = Map.groupBy(cases, ([, attributes = '']) => fileOfCase(attributes, known));
  const files = [...byFile].flatMap(([file, tests]) => (file === undefined ? [] : [{ file, ...runOf(tests) }]));
  return { passed: cases.length - failures.length, failures, files };
}

function runOf(cases: readonly RegExpExecArray[]): Omit<FileRun, 'file'> {
  return {
    ms: cases.reduce((sum, [, attributes = '']) => sum + 1000 * Number(attribute(attributes, 'time') || 0), 0),
    tests: cases.map(([, attributes = '']) => attribute(attributes, 'name')),
  };
}

/** The test file of a case; undefined: it is none of those known, as of a file that does not load. */
function fileOfCase(attributes: string, known: readonly string[]): string | undefined {
  const file = `${attribute(attributes, 'classname').replaceAll('.', '/')}.py`;
  return known.includes(file) ? file : undefined;
}

function testCaseName(attributes: string): string {
  return `${attribute(attributes, 'classname')}: ${attribute(attributes, 'name')}`;
}

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
  return value.replaceAll(/&(#?\w+);/g, (entity, code: string) => ENTITIES[code] ?? entity);
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&', apos: "'", '#10': '\n', '#39': "'" };
