/** Python environments for the tests of the Python package: one of each Python that this machine has. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../process/lock.ts';
import { onPath } from '../process/processes.ts';
import { cacheDirectory } from './binaries.ts';

const run = promisify(execFile);

/** The Python package of this repository. */
export const CLIENT_PACKAGE = join(import.meta.dirname, '../../../../clients/python');
const MINORS = [10, 11, 12, 13, 14, 15];
const COMPLETE = 'complete';

/** A Python that can make environments. */
export interface BasePython {
  /** Such as `3.12`. */
  readonly version: string;
  readonly path: string;
}

/** Each Python of this machine that the package supports, the oldest first. One that cannot make environments is left out. */
export async function basePythons(): Promise<readonly BasePython[]> {
  const found = await Promise.all(
    MINORS.map(async (minor): Promise<BasePython | undefined> => {
      const version = `3.${minor}`;
      for (const path of pathsOf(version)) if (await isUsable(path, version)) return { version, path };
      return undefined;
    }),
  );
  return found.filter((python) => python !== undefined);
}

/** pyenv shows on PATH only the versions that somebody chose. */
function pathsOf(version: string): readonly string[] {
  const pyenv = process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv');
  const chosen = onPath(`python${version}`);
  return [...(chosen === undefined ? [] : [chosen]), ...globSync(join(pyenv, `versions/*/bin/python${version}`))];
}

async function isUsable(path: string, version: string): Promise<boolean> {
  const question = ['-c', 'import sys, venv, ensurepip; print(f"3.{sys.version_info[1]}")'];
  const answer = await run(path, question).catch(() => undefined);
  return answer?.stdout.trim() === version;
}

/** The Python of an environment that has what this lock of {@link CLIENT_PACKAGE} names; it is made if it is not there. The package itself is not in it. */
export async function clientPython(base: BasePython, lock: 'test' | 'frames' | 'notebook'): Promise<string> {
  const path = join(CLIENT_PACKAGE, `requirements-${lock}.lock`);
  const hash = createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 12);
  const directory = join(cacheDirectory(), `client-python-${base.version}-${hash}`);
  const python = join(directory, 'bin/python');
  if (!existsSync(join(directory, COMPLETE))) {
    await withLock(`client-python-${base.version}`, async () => {
      if (existsSync(join(directory, COMPLETE))) return;
      rmSync(directory, { recursive: true, force: true });
      mkdirSync(dirname(directory), { recursive: true });
      await run(base.path, ['-m', 'venv', directory]);
      const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--progress-bar=off'];
      // A notebook imports a part of what is installed, and Python compiles that part then.
      const compile = lock === 'notebook' ? ['--no-compile'] : [];
      const wheels = ['--require-hashes', '--only-binary=:all:'];
      await run(python, ['-m', 'pip', 'install', ...quiet, ...compile, ...wheels, '-r', path]);
      writeFileSync(join(directory, COMPLETE), '');
    });
  }
  return python;
}
