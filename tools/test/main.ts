import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { removeOwnFolders } from '@coxswain/local-cluster';
import { ensureSetup } from '../setup/ensure-setup.ts';
import { complaintsDuring } from './complaints.ts';
import { secondsSince } from '../setup/progress.ts';
import {
  chosenFiles,
  FORMAT,
  GENERATED,
  HOUSE,
  INTEGRATION,
  lanesOf,
  LINT,
  LONG_TESTS,
  SLOW_ON_TWO_CORES,
  needsOf,
  PYTHON,
  STYLE,
  TYPECHECK,
  UNIT,
  type Choice,
  type Part,
  type PartContext,
} from './parts.ts';
import { describeFailures, summaryLine, total, type Span, type Tally } from './results.ts';
import { describeDurations, keepRecord } from './run-record.ts';
import { afterAnotherRun, filesToRunAgain, runAgain } from './run-again.ts';
import { stopRunning } from './run-supervised.ts';
import { watchUnitTests } from './watch.ts';

const HELP = `npm test [-- options] [path ...]

Sets up what the tests need and runs them, except those that take minutes each: a path runs those too, and so does
"npm run campaign -- long-tests". The last line is "N passed, N failed"; a test that is skipped, and a file that does
not load, count as failed.

  path            only test files whose path contains it
  --unit          only the unit tests (they need nothing but Node)
  --integration   only the integration tests (Postgres, Kubernetes, PyTorch)
  --python        only the tests of the engines
  --watch         the unit tests, and again whenever a file changes, until Ctrl-C
  --ci            lint, the house rules, style, format and whether generated files are up to date as well
  --help          this text
`;

/** Of each test file that failed. */
const MOST_COMPLAINTS = 12;
const RUN_PREFIX = 'coxswain-test-';
const KEEP_RUNS_MS = 24 * 3_600_000;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      unit: { type: 'boolean' },
      integration: { type: 'boolean' },
      python: { type: 'boolean' },
      watch: { type: 'boolean' },
      ci: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  if (values.watch === true) {
    return watchUnitTests(positionals);
  }
  const chosen: readonly Part[] = [
    ...(values.unit === true ? [UNIT] : []),
    ...(values.python === true ? [PYTHON] : []),
    ...(values.integration === true ? INTEGRATION : []),
  ];
  const everything = [...(positionals.length > 0 ? [] : [TYPECHECK]), UNIT, ...INTEGRATION, PYTHON];
  const parts =
    chosen.length > 0
      ? chosen
      : values.ci === true
        ? [LINT, HOUSE, STYLE, FORMAT, GENERATED, ...everything]
        : everything;
  const left = values.ci === true ? [...LONG_TESTS, ...SLOW_ON_TWO_CORES] : LONG_TESTS;
  const without = positionals.length === 0 ? left : [];
  return runParts(parts, { filters: positionals, without });
}

async function runParts(parts: readonly Part[], choice: Choice): Promise<number> {
  const started = performance.now();
  removeOldRuns();
  const directory = mkdtempSync(join(tmpdir(), RUN_PREFIX));
  // A part that the filters leave without tests is neither run nor set up for.
  const wanted = parts.filter((part) => part.files === undefined || chosenFiles(part, choice).length > 0);
  const context = { ...choice, directory };
  const all = await onceMore(wanted, context, await runLanes(wanted, context));
  const failures =
    all.passed + all.failures.length === 0 ? [{ name: 'tests', message: 'there was none to run' }] : all.failures;
  if (failures.length === 0) {
    rmSync(directory, { recursive: true, force: true });
  } else {
    tell(`Logs and reports are kept in ${directory}`);
  }
  const files = all.files ?? [];
  if (files.length > 1) tell(`${describeDurations(files)}Durations and names of all: ${keepRecord(files, new Date())}`);
  // After the durations: a log is often cut to its end.
  if (failures.length > 0) tell(describeFailures(failures, complaintsIn(directory)));
  const { without = [] } = choice;
  tell([`All of it took ${secondsSince(started)}.`, ...notRun(without)].join(' '));
  for (const note of all.notes ?? []) tell(note);
  process.stdout.write(`${summaryLine({ passed: all.passed, failures })}\n`);
  return failures.length === 0 ? 0 : 1;
}

function notRun(without: readonly string[]): readonly string[] {
  const slow = without.filter((path) => SLOW_ON_TWO_CORES.includes(path));
  const long = without.filter((path) => !slow.includes(path));
  return [
    ...(long.length === 0 ? [] : [`Not run here, but by npm run campaign -- long-tests: ${long.join(', ')}.`]),
    ...(slow.length === 0 ? [] : [`Not run here, but by npm test: ${slow.join(', ')}.`]),
  ];
}

async function runLanes(parts: readonly Part[], context: PartContext): Promise<Tally> {
  return total(await Promise.all(lanesOf(parts).map((lane) => runLane(lane, context))));
}

/** A run of everything has busy neighbours for each file; a run of chosen files does not, so its failures stand. */
async function onceMore(parts: readonly Part[], context: PartContext, first: Tally): Promise<Tally> {
  const files = context.filters.length > 0 ? [] : filesToRunAgain(first.failures);
  if (files.length === 0) return first;
  tell(`\nOnce more, alone: ${files.join(', ')}`);
  const again = total(await runAgain(parts, files, { context, runPart }));
  return afterAnotherRun(first, files, again);
}

function complaintsIn(directory: string): (span: Span) => readonly string[] {
  const runs = INTEGRATION.map(({ name }) => join(directory, name));
  return (span) => runs.flatMap((folder) => complaintsDuring(folder, span, MOST_COMPLAINTS));
}

/** One after the other. */
async function runLane(parts: readonly Part[], context: PartContext): Promise<Tally> {
  const tallies: Tally[] = [];
  for (const part of parts) {
    tallies.push(await runPart(part, context));
  }
  return total(tallies);
}

/** Logs of failed and killed runs are kept for a day. */
function removeOldRuns(): void {
  const isOld = (modifiedAtMs: number): boolean => Date.now() - modifiedAtMs > KEEP_RUNS_MS;
  removeOwnFolders(tmpdir(), (name, { modifiedAtMs }) => name.startsWith(RUN_PREFIX) && isOld(modifiedAtMs));
}

async function runPart(part: Part, context: PartContext): Promise<Tally> {
  const started = performance.now();
  tell(`\n▶ ${part.name}`);
  let setUp = '';
  const run = async (): Promise<Tally> => {
    await ensureSetup({ only: needsOf(part, context) });
    setUp = `, set-up ${secondsSince(started)}`;
    return part.run(context);
  };
  const tally = await run().catch((error: unknown) => ({
    passed: 0,
    failures: [{ name: part.name, message: error instanceof Error ? error.message : String(error) }],
  }));
  const verdict = tally.failures.length === 0 ? '✓' : '✗';
  tell(`${verdict} ${part.name}: ${summaryLine(tally)} (${secondsSince(started)}${setUp})`);
  return tally;
}

function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void stopRunning().finally(() => process.exit(128 + constants.signals[signal])));
}

try {
  process.exitCode = await main();
} catch (error) {
  tell(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
