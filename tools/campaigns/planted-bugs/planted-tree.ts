import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { unitTestArguments, vitestArguments } from '../../test/parts.ts';
import { ROOT } from '../../test/run-supervised.ts';
import type { TestReport } from '../../test/results.ts';
import { REPORT_VARIABLE } from '../../test/vitest-report.ts';
import { linkModules } from '../linked-modules.ts';
import type { PlantedBug } from './bugs.ts';

const run = promisify(execFile);

/** What became of a test file. */
export interface TestOutcome {
  /** Full names of the tests that failed. */
  readonly failed: readonly string[];
  readonly passed: number;
  /** Why there is no result, if there is none: the file does not even load, or ran out of time. */
  readonly problem?: string;
}

/** A copy of the tree as it stands, uncommitted changes included, in which bugs can be planted. */
export class PlantedTree {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async copy(): Promise<PlantedTree> {
    const folder = await mkdtemp(join(tmpdir(), 'coxswain-planted-'));
    const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: ROOT,
      maxBuffer: 64 << 20,
    });
    for (const file of stdout.split('\0').filter((name) => name !== '')) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await cp(join(ROOT, file), join(folder, file)).catch(unlessDeleted);
    }
    await linkModules(folder);
    return new PlantedTree(folder);
  }

  /** Throws where the bug does not apply to the code as it is. */
  async plant(bug: PlantedBug): Promise<void> {
    const path = join(this.#folder, bug.file);
    await writeFile(path, planted(await readFile(path, 'utf8'), bug));
  }

  /** The file as it was. */
  async heal({ file }: PlantedBug): Promise<void> {
    await cp(join(ROOT, file), join(this.#folder, file));
  }

  async test(file: string): Promise<TestOutcome> {
    const report = join(this.#folder, 'planted-report.json');
    await rm(report, { force: true });
    await run(process.execPath, testArguments(file), {
      cwd: this.#folder,
      timeout: TIMEOUT_MS,
      maxBuffer: 64 << 20,
      env: { ...process.env, [REPORT_VARIABLE]: report },
    }).catch(() => undefined);
    return outcomeOf(await readFile(report, 'utf8').catch(() => undefined));
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** The text of a file with the bug in it. */
export function planted(text: string, { bugClass, file, before, after, and }: PlantedBug): string {
  return [{ before, after }, ...(and === undefined ? [] : [and])].reduce((whole, edit) => {
    const places = whole.split(edit.before).length - 1;
    if (places !== 1) throw new Error(`bug ${bugClass} does not apply: its place occurs ${places} times in ${file}`);
    return whole.replace(edit.before, () => edit.after);
  }, text);
}

/** What Node is given so that one test file of the copy runs; the runner is the tree's own. */
function testArguments(file: string): readonly string[] {
  return file.endsWith('.itest.ts') ? vitestArguments([file]) : unitTestArguments([file]);
}

/** A test that needs longer than this with a bug has not caught it. */
const TIMEOUT_MS = 300_000;

function unlessDeleted(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

function outcomeOf(report: string | undefined): TestOutcome {
  if (report === undefined) return { failed: [], passed: 0, problem: 'it did not end in time' };
  const { testResults } = JSON.parse(report) as TestReport;
  const results = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = results.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
  const passed = results.filter(({ status }) => status === 'passed').length;
  if (results.length > 0) return { failed, passed };
  return {
    failed,
    passed,
    problem: testResults.map(({ message }) => message.slice(0, 500)).join('\n') || 'no test ran',
  };
}
