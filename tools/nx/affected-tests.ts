import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Part } from '../test/parts.ts';
import { ROOT, runSupervised } from '../test/run-supervised.ts';
import { NX, nxEnvironment } from './nx-environment.ts';

/** Where a change is compared from, in this order: what the caller names, the shared branch, the local branch. */
const BASES = ['origin/main', 'main'] as const;

/** Unit tests of the projects that the change affects. nx skips a project whose tests passed with the same inputs before. */
export const AFFECTED_UNIT: Part = {
  name: 'unit tests of affected projects',
  needs: [],
  lane: 'compute',
  files: undefined,
  run: async () => {
    const args = affectedArguments(await findBase(process.env['NX_BASE']));
    const env = nxEnvironment(ROOT);
    const exit = await runSupervised({ name: 'nx', command: NX, args, env, yields: true });
    if (exit?.code === 0) return { passed: 1, failures: [] };
    return { passed: 0, failures: [{ name: 'nx', message: 'unit tests failed; their messages are above' }] };
  },
};

/** The arguments with which nx runs the tests that a change since `base` affects; without a base, all tests. */
export function affectedArguments(base: string | undefined): readonly string[] {
  const which = base === undefined ? ['run-many'] : ['affected', `--base=${base}`];
  return [...which, '--target=test', '--output-style=static'];
}

/** The commit at which the change left its base; undefined in a clone that has no base, such as a shallow one. */
async function findBase(named: string | undefined): Promise<string | undefined> {
  for (const base of named === undefined || named === '' ? BASES : [named]) {
    const mergeBase = await git(['merge-base', 'HEAD', base]);
    if (mergeBase !== undefined) return mergeBase;
  }
  return undefined;
}

async function git(args: readonly string[]): Promise<string | undefined> {
  const result = await promisify(execFile)('git', args, { cwd: ROOT }).catch(() => undefined);
  return result?.stdout.trim();
}
