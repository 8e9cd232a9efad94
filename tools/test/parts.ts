import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeExit, findEnginePython } from '@coxswain/local-cluster';
import { USUAL_PARTS, type SetupPart } from '../setup/ensure-setup.ts';
import { crashesIn, describeCrashes, tallyOfJest, tallyOfJunit, total, type Tally } from './results.ts';
import { ROOT, runSupervised } from './run-supervised.ts';

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

/** One kind of check. */
export interface Part {
  readonly name: string;
  readonly needs: readonly SetupPart[];
  /** Where its test files are; undefined where it looks at the tree as a whole. */
  readonly files: string | undefined;
  /** Its tests wait for clocks and for other programs, under deadlines. */
  readonly waits?: boolean;
  run(context: PartContext): Promise<Tally>;
}

/** More workers would fight over two cores, and tests with deadlines would lose. */
const UNIT_WORKERS = 2;
const INTEGRATION_WORKERS = 1;

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
export const UNIT = jestPart({ project: 'unit', suffix: 'spec', needs: [], workers: UNIT_WORKERS });
/** `*.itest.ts`. */
export const INTEGRATION = jestPart({
  project: 'integration',
  suffix: 'itest',
  needs: USUAL_PARTS,
  workers: INTEGRATION_WORKERS,
  waits: true,
});
/** `engines/**\/test_*.py`. */
export const PYTHON: Part = { name: 'python', needs: ['python'], files: 'engines/**/test_*.py', run: runPython };

/** Test files that need more than their part does. */
const NEEDS_OF_FILES: Readonly<Record<string, SetupPart>> = {
  'e2e/real-engines.itest.ts': 'upstream-engines',
  'e2e/slow-torchtitan.itest.ts': 'upstream-engines',
};

/** Tests that take minutes each. CI leaves them to `npm run campaign -- long-tests`, so that it ends while somebody waits for it. */
export const LONG_TESTS: readonly string[] = [
  'e2e/detectors.itest.ts',
  'e2e/elastic.itest.ts',
  'e2e/idle-cluster.itest.ts',
  'e2e/kills.itest.ts',
  'e2e/outages.itest.ts',
  'e2e/real-engines.itest.ts',
  'e2e/slow-torchtitan.itest.ts',
];

/**
 * What runs side by side, each list in its order. The parts that wait leave some of the cores to those that only
 * compute, which have the lower priority in return: deadlines are to hold.
 */
export function lanesOf(parts: readonly Part[]): readonly (readonly Part[])[] {
  const waiting = parts.filter(({ waits }) => waits === true);
  const computing = parts.filter(({ waits }) => waits !== true);
  return [waiting, computing].filter((lane) => lane.length > 0);
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
  return paths.filter((path) => isNamed(path) && !without.includes(path)).sort();
}

/** What Node is told so that Jest runs the tests of `project`, with Jest's own `options`. */
export function jestArguments(project: string, options: readonly string[]): string[] {
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  return [...node, join(ROOT, 'node_modules/jest/bin/jest.js'), '--selectProjects', project, ...options];
}

function commandPart(name: string, command: string, args: readonly string[]): Part {
  return {
    name,
    needs: [],
    files: undefined,
    run: async () => {
      const exit = await runSupervised({ name, command, args, yields: true });
      const passed = exit?.code === 0;
      return { passed: passed ? 1 : 0, failures: passed ? [] : [{ name, message: 'its messages are above' }] };
    },
  };
}

interface JestKind extends Pick<Part, 'needs' | 'waits'> {
  readonly project: string;
  readonly suffix: string;
  readonly workers: number;
}

function jestPart({ project, suffix, needs, workers, waits = false }: JestKind): Part {
  const part: Part = {
    name: project,
    needs,
    waits,
    files: `{libs,apps,tools,migrations,e2e}/**/*.${suffix}.ts`,
    run: async ({ directory, ...choice }) => {
      const run = async (name: string, paths: readonly string[]): Promise<JestRun> => {
        const report = join(directory, `${name}.json`);
        const exit = await runSupervised({
          name: `jest ${name}`,
          command: process.execPath,
          args: jestArguments(project, [
            ...[`--maxWorkers=${workers}`, '--json', `--outputFile=${report}`],
            ...['--runTestsByPath', ...paths],
          ]),
          // Programs are started thousands of times from sources: what was stripped and compiled once is there for the next.
          env: { COXSWAIN_RUN_DIR: join(directory, project), NODE_COMPILE_CACHE: join(directory, 'compiled') },
          report,
          yields: !waits,
        });
        return { exit, json: existsSync(report) ? readFileSync(report, 'utf8') : undefined };
      };
      const { exit, json } = await run(project, chosenFiles(part, choice));
      const crashes = json === undefined ? [] : crashesIn(json);
      if (json === undefined || crashes.length === 0) {
        return withExit(json === undefined ? undefined : tallyOfJest(json), `jest ${project}`, exit);
      }
      const crashed = crashes.map(({ file }) => file);
      process.stderr.write(`\nJavaScript's engine crashed under ${crashed.join(', ')}; once more:\n`);
      const again = await run(`${project}-again`, crashed);
      const notes = [describeCrashes(crashes, exit === undefined ? 'did not end' : describeExit(exit))];
      return total([
        { ...tallyOfJest(json, { without: crashed }), notes },
        withExit(again.json === undefined ? undefined : tallyOfJest(again.json), `jest ${project} again`, again.exit),
      ]);
    },
  };
  return part;
}

interface JestRun {
  readonly exit: Awaited<ReturnType<typeof runSupervised>>;
  /** Its report; undefined where it ended without one. */
  readonly json: string | undefined;
}

async function runPython({ directory, ...choice }: PartContext): Promise<Tally> {
  const files = chosenFiles(PYTHON, choice);
  mkdirSync(directory, { recursive: true });
  const report = join(directory, 'python.xml');
  const folders = globSync('engines/*/', { cwd: ROOT }).map((folder) => join(ROOT, folder));
  const exit = await runSupervised({
    name: 'pytest',
    command: findEnginePython(),
    args: ['-m', 'pytest', '-q', '--import-mode=importlib', '-p', 'no:cacheprovider', `--junitxml=${report}`, ...files],
    // One thread per rank: ranks that share cores and spin for each other are many times slower.
    env: { PYTHONPATH: folders.join(':'), PYTHONDONTWRITEBYTECODE: '1', OMP_NUM_THREADS: '1' },
    report,
    yields: true,
  });
  return withExit(existsSync(report) ? tallyOfJunit(readFileSync(report, 'utf8')) : undefined, 'pytest', exit);
}

/** A runner that died, hung, or is unhappy for a reason of its own is a failure even if every test it told of passed. */
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
