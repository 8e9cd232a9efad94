/** The tests of the Python package, with the oldest and the newest Python of this machine that it supports. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type BasePython, basePythons, CLIENT_PACKAGE, clientPython } from './client-python.ts';

const run = promisify(execFile);
const pythons = await basePythons();
const newest = pythons.at(-1);
/** What one Python lacks, the oldest lacks; what one has removed, the newest has removed. */
const ends = pythons.filter((base) => base === pythons[0] || base === newest);

/** Output of Python in the folder of the package. */
async function python(base: BasePython, lock: 'test' | 'frames', args: readonly string[]): Promise<string> {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' };
  const options = { cwd: CLIENT_PACKAGE, env, maxBuffer: 16e6 };
  return run(await clientPython(base, lock), args, options).then(
    ({ stdout }) => stdout,
    ({ stdout = '', stderr = '' }: { stdout?: string; stderr?: string }) => `failed:\n${stdout}\n${stderr}`,
  );
}

const PYTEST = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'];

describe('the Python package', () => {
  it.each(ends.map((base) => [base.version, base] as const))(
    'passes its tests with Python %s',
    async (_version, base) => {
      expect(await python(base, 'test', [...PYTEST, '--ignore=tests/test_frames.py'])).toMatch(/^\d+ passed in /m);
    },
  );

  it('has types that are right, and DataFrames where pandas is installed', async () => {
    if (newest === undefined) throw new Error('this machine has no Python of 3.10 to 3.15 on PATH');
    expect(await python(newest, 'frames', [...PYTEST, 'tests/test_frames.py'])).toMatch(/^\d+ passed in /m);
    const cache = ['--cache-dir', '/dev/null'];
    expect(
      await python(newest, 'frames', ['-m', 'mypy', '--strict', ...cache, 'coxswain', 'tests/typed_program.py']),
    ).toContain('Success: no issues found');
  });
});
