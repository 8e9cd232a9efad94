import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeExit, findEnginePython, startPostgres } from '@coxswain/local-cluster';
import { SHARED_POSTGRES_VARIABLE, usersVariable } from '@coxswain/test-harness';
import { USUAL_PARTS, type SetupPart } from '../setup/ensure-setup.ts';
import { tallyOfJunit, tallyOfReport, type Tally } from './results.ts';
import { ROOT, runSupervised } from './run-supervised.ts';
import { REPORT_VARIABLE } from './vitest-report.ts';

/** Which test files a run is of. */
export interface Choice {
  /** Only those whose path contains one of these; all when empty. */
  readonly filters: readonly string[];
  /** Paths of those that are left to another run. */
  readonly without?: readonly string[];
}

/** What a part is given. */
export interface PartContext extends Choice {
  /** For reports and logs; removed when everything passed. */
  readonly directory: string;
}

/** `system` and `cluster` wait for clocks and for other programs, under deadlines; `compute` leaves them the cores. */
export type Lane = 'system' | 'cluster' | 'compute';

/** One kind of check. */
export interface Part {
  readonly name: string;
  readonly needs: readonly SetupPart[];
  /** Where its test files are; undefined where it looks at the tree as a whole. */
  readonly files: string | undefined;
  /** Which of `files` are its own, by path; all unless given. */
  readonly isOwn?: (path: string) => boolean;
  /** Parts of one lane run one after the other, and lanes side by side. */
  readonly lane: Lane;
  run(context: PartContext): Promise<Tally>;
}

/** Of the PostgreSQL that test files share: each API of a test has up to 25, and some tests start three. */
const SHARED_CONNECTIONS = 400;

const bin = (name: string): string => join(ROOT, 'node_modules/.bin', name);

/** TypeScript's opinion of the whole tree. */
export const TYPECHECK = commandPart('typecheck', bin('tsc'), ['-p', 'tsconfig.json', '--noEmit']);
/** Rules and import boundaries. */
export const LINT = commandPart('lint', bin('eslint'), ['.', '--max-warnings', '0']);
/** Rules about files as a whole: their length, their circles, what an index exports. */
export const HOUSE = commandPart('house', process.execPath, ['tools/house/measure.ts', '--check']);
/** Words and lengths of sentences: advice for docs and comments, a failure in messages to users. */
export const STYLE = commandPart('style', process.execPath, ['tools/style/main.ts']);
/** Layout of the text. */
export const FORMAT = commandPart('format', bin('prettier'), ['--check', '.', '--log-level', 'warn']);
/** Generated files are those that their sources generate. */
export const GENERATED = commandPart('generated files', process.execPath, ['tools/generate/main.ts', '--check']);
/** `*.spec.ts`. */
export const UNIT = unitPart();
/** `*.itest.ts` of the API and the database: they need PostgreSQL, which they share. */
export const DATABASE_TESTS = vitestPart({
  name: 'integration-database',
  folders: ['apps/api/', 'libs/persistence/'],
  lane: 'system',
});
/** `*.itest.ts` of whole systems: every program, with real ranks. */
export const SYSTEM_TESTS = vitestPart({
  name: 'integration-system',
  folders: ['e2e/', 'apps/launcher/'],
  lane: 'system',
});
/** All other `*.itest.ts`; most need a Kubernetes control plane. */
export const CLUSTER_TESTS = vitestPart({
  name: 'integration-cluster',
  folders: ['apps/', 'libs/', 'dev/', 'research/', 'migrations/', 'tools/'],
  without: ['apps/api/', 'apps/launcher/', 'libs/persistence/'],
  lane: 'cluster',
});
/** All `*.itest.ts`. */
export const INTEGRATION: readonly Part[] = [DATABASE_TESTS, SYSTEM_TESTS, CLUSTER_TESTS];
/** `engines/**\/test_*.py`. */
export const PYTHON: Part = {
  name: 'python',
  needs: ['python'],
  // Ranks wait for each other more than they compute, so these tests and the unit tests share the cores well.
  lane: 'cluster',
  files: 'engines/**/test_*.py',
  run: runPython,
};

/** Test files that need more than their part does. */
const NEEDS_OF_FILES: Readonly<Record<string, SetupPart>> = {
  'e2e/real-engines.itest.ts': 'upstream-engines',
  'e2e/slow-torchtitan.itest.ts': 'upstream-engines',
  'apps/cli/src/checkpoints/bucket.itest.ts': 'object-store',
  'apps/launcher/src/bucket/convert-in-bucket.itest.ts': 'object-store',
  'apps/launcher/src/checkpoints/delete-from-bucket.itest.ts': 'object-store',
  'apps/launcher/src/pod/bucket.itest.ts': 'object-store',
  'apps/api/src/code/code.itest.ts': 'object-store',
  'e2e/bucket.itest.ts': 'object-store',
  'e2e/ship-code.itest.ts': 'object-store',
  'libs/checkpoint-store/src/resharding/reshard-workers.itest.ts': 'object-store',
  'libs/checkpoint-store/src/s3/s3-store.itest.ts': 'object-store',
};

/** Test files that need this part beside what all tests of their kind need. */
export function testsThatNeed(part: SetupPart): readonly string[] {
  return Object.keys(NEEDS_OF_FILES).filter((path) => NEEDS_OF_FILES[path] === part);
}

/** Tests that take minutes each. CI leaves them to `npm run campaign -- long-tests`, so that it ends while somebody waits for it. */
export const LONG_TESTS: readonly string[] = [
  'e2e/detectors.itest.ts',
  'e2e/elastic.itest.ts',
  'e2e/idle-cluster.itest.ts',
  'e2e/kills.itest.ts',
  'e2e/making-room.itest.ts',
  'e2e/outages.itest.ts',
  'e2e/real-engines.itest.ts',
  'e2e/slow-torchtitan.itest.ts',
];

/**
 * Integration tests that `.ci/run` leaves out, because two slow cores need an hour and a half for everything. `npm test` runs them, and so does the
 * workflow of pull requests, on a machine for each shard.
 */
export const SLOW_ON_TWO_CORES: readonly string[] = [
  'apps/operator/src/bound-as-placed.itest.ts',
  'apps/operator/src/kill-points.itest.ts',
  'apps/operator/src/stale-views.itest.ts',
  'apps/operator/src/uninstall.itest.ts',
  'e2e/hangs.itest.ts',
  'tools/chart/backup.itest.ts',
];

/**
 * What runs side by side, each list in its order. The lanes that wait leave some of the cores to the one that only computes, which has the lower
 * priority in return: deadlines are to hold.
 */
export function lanesOf(parts: readonly Part[]): readonly (readonly Part[])[] {
  const lanes = new Map<Lane, Part[]>();
  for (const part of parts) lanes.set(part.lane, [...(lanes.get(part.lane) ?? []), part]);
  return [...lanes.values()];
}

/** What must be set up before those test files of a part that are chosen. */
export function needsOf(part: Part, choice: Choice): readonly SetupPart[] {
  return [...part.needs, ...chosenFiles(part, choice).flatMap((file) => NEEDS_OF_FILES[file] ?? [])];
}

/** The test files of a part that are chosen, from the root of the repository. */
export function chosenFiles(part: Part, { filters, without = [] }: Choice): string[] {
  const exclude = ['**/node_modules/**', '**/dist/**'];
  const paths = part.files === undefined ? [] : globSync(part.files, { cwd: ROOT, exclude });
  const isNamed = (path: string): boolean => filters.length === 0 || filters.some((filter) => path.includes(filter));
  const isOwn = part.isOwn ?? ((): boolean => true);
  return paths.filter((path) => isOwn(path) && isNamed(path) && !without.includes(path)).sort();
}

/** The integration test files that are chosen, of all parts, from the root of the repository. */
export function integrationFiles(choice: Choice): string[] {
  return INTEGRATION.flatMap((part) => chosenFiles(part, choice)).sort();
}

function commandPart(name: string, command: string, args: readonly string[]): Part {
  return {
    name,
    needs: [],
    files: undefined,
    lane: 'compute',
    run: async () => {
      const exit = await runSupervised({ name, command, args, yields: true });
      const passed = exit?.code === 0;
      return { passed: passed ? 1 : 0, failures: passed ? [] : [{ name, message: 'its messages are above' }] };
    },
  };
}

/** Unit tests: they need nothing but Node. */
function unitPart(): Part {
  const part: Part = {
    name: 'unit',
    needs: [],
    lane: 'compute',
    files: '{libs,apps,dev,research,tools,migrations,e2e}/**/*.spec.ts',
    run: ({ directory, ...choice }) => {
      const files = chosenFiles(part, choice);
      return runVitest({ name: 'unit', directory, files, args: unitTestArguments(files), yields: true });
    },
  };
  return part;
}

interface VitestKind {
  readonly name: string;
  readonly folders: readonly string[];
  readonly without?: readonly string[];
  readonly lane: Lane;
}

/** Integration tests: one process per part, so that files share what they start (docs/adr/0123). */
function vitestPart({ name, folders, without = [], lane }: VitestKind): Part {
  const isIn = (path: string, places: readonly string[]): boolean => places.some((place) => path.startsWith(place));
  const part: Part = {
    name,
    needs: USUAL_PARTS,
    lane,
    files: '{libs,apps,dev,research,tools,migrations,e2e}/**/*.itest.ts',
    isOwn: (path) => isIn(path, folders) && !isIn(path, without),
    run: async ({ directory, ...choice }) => {
      const files = chosenFiles(part, choice);
      return withSharedPostgres(files, (shared) =>
        runVitest({ name, directory, files, args: vitestArguments(files), env: { ...shared, ...usersOf(files) } }),
      );
    },
  };
  return part;
}

interface VitestRun {
  readonly name: string;
  readonly directory: string;
  readonly files: readonly string[];
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly yields?: boolean;
}

async function runVitest({ name, directory, files, args, env, yields = false }: VitestRun): Promise<Tally> {
  const report = join(directory, `${name}.json`);
  const exit = await runSupervised({
    name: `vitest ${name}`,
    command: process.execPath,
    args,
    env: { ...environmentOf(directory, name), ...env, [REPORT_VARIABLE]: report },
    report,
    yields,
  });
  const json = existsSync(report) ? readFileSync(report, 'utf8') : undefined;
  return withExit(json === undefined ? undefined : tallyOfReport(json, files), `vitest ${name}`, exit);
}

/** The arguments of Node under which Vitest runs these integration tests. */
export function vitestArguments(files: readonly string[]): string[] {
  return [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...files];
}

/** The arguments of Node under which Vitest runs unit tests, with Vitest's own `options` or paths. */
export function unitTestArguments(options: readonly string[], command: 'run' | 'watch' = 'run'): string[] {
  return [join(ROOT, 'node_modules/vitest/vitest.mjs'), command, '--config', 'vitest.unit.config.mjs', ...options];
}

/** Programs are started thousands of times from sources: what was stripped and compiled once is there for the next. */
function environmentOf(directory: string, name: string): Readonly<Record<string, string>> {
  return { COXSWAIN_RUN_DIR: join(directory, name), NODE_COMPILE_CACHE: join(directory, 'compiled') };
}

/** How many of `files` use each fixture that files share. */
function usersOf(files: readonly string[]): Readonly<Record<string, string>> {
  const count = (call: RegExp): string => String(files.filter((file) => calls(file, call)).length);
  return {
    [usersVariable('system')]: count(/\bsharedSystem\(/),
    [usersVariable('world')]: count(/\bsharedWorld\(/),
  };
}

function calls(file: string, call: RegExp): boolean {
  return call.test(readFileSync(join(ROOT, file), 'utf8'));
}

/** Starts one PostgreSQL for all of `files` if one of them asks for it, and stops it when `use` has ended. */
async function withSharedPostgres<T>(
  files: readonly string[],
  use: (environment: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  const isShared = (file: string): boolean =>
    /(shared|migrated)Postgres\(/.test(readFileSync(join(ROOT, file), 'utf8'));
  if (!files.some(isShared)) return use({});
  const postgres = await startPostgres({ maxConnections: SHARED_CONNECTIONS });
  try {
    return await use({ [SHARED_POSTGRES_VARIABLE]: postgres.url });
  } finally {
    await postgres.stop();
  }
}

async function runPython({ directory, ...choice }: PartContext): Promise<Tally> {
  const files = chosenFiles(PYTHON, choice);
  mkdirSync(directory, { recursive: true });
  const report = join(directory, 'python.xml');
  const folders = globSync('engines/*/', { cwd: ROOT }).map((folder) => join(ROOT, folder));
  const exit = await runSupervised({
    name: 'pytest',
    command: findEnginePython(),
    // Names begin at the root of the repository, so that each tells its file.
    args: [
      '-m',
      'pytest',
      '-q',
      `--rootdir=${ROOT}`,
      '--import-mode=importlib',
      '-p',
      'no:cacheprovider',
      `--junitxml=${report}`,
      ...files,
    ],
    // One thread per rank: ranks that share cores and spin for each other are many times slower.
    env: { PYTHONPATH: folders.join(':'), PYTHONDONTWRITEBYTECODE: '1', OMP_NUM_THREADS: '1' },
    report,
    yields: true,
  });
  return withExit(existsSync(report) ? tallyOfJunit(readFileSync(report, 'utf8'), files) : undefined, 'pytest', exit);
}

/** A runner that died, hung, or is unhappy for a reason of its own is a failure even if every test that it reported passed. */
function withExit(
  tally: Tally | undefined,
  runner: string,
  exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined,
): Tally {
  if (tally === undefined) {
    return {
      passed: 0,
      failures: [{ name: runner, message: `ended without results (${exit && describeExit(exit)})` }],
    };
  }
  if (exit === undefined) {
    const message = 'something that a test started kept it alive after the last test';
    return { ...tally, failures: [...tally.failures, { name: runner, message }] };
  }
  if (exit.code !== 0 && tally.failures.length === 0) {
    return {
      ...tally,
      failures: [{ name: runner, message: `every test passed, but it ended with ${describeExit(exit)}` }],
    };
  }
  return tally;
}
