import { globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, normalize } from 'node:path';
import { ROOT } from '../test/run-supervised.ts';
// @ts-expect-error -- plain JavaScript, because nx loads it without a compiler
import { FIXTURES } from './fixtures.mjs';

const fixtures = FIXTURES as Readonly<Record<string, readonly string[]>>;
/** Folders of the root that hold files which tests read as data. */
const DATA = /^(?:charts|docs|e2e|engines|examples|images|migrations|tools|(?:libs|research)\/[\w-]+\/data)(?:\/|$)/;
/** A path upwards in quotes of any kind, or a path in single quotes: those in backquotes are words of a message. */
const LITERAL = /['`]((?:\.\.\/)+[\w./*-]+)(?=['`]|\$\{)|'([\w-]+\/[\w./*-]+)'/g;
const IMPORT = /(?:from|import\()\s*'[^']*'/g;
const WORKSPACES = globSync('{apps,libs,dev,research}/*', { cwd: ROOT }).toSorted();

/** What files of a workspace that unit tests load name outside of it: paths relative to themselves or to the root. */
function namedOutside(workspace: string): string[] {
  const files = globSync(`${workspace}/src/**/*.{ts,tsx}`, { cwd: ROOT }).filter((path) => !path.endsWith('.itest.ts'));
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(IMPORT, '');
    const literals = [...text.matchAll(LITERAL)].map(([, upwards, fromRoot = '']) => upwards ?? fromRoot);
    const relative = (path: string): string => normalize(path.startsWith('../') ? join(dirname(file), path) : path);
    return literals.map(relative).filter((path) => DATA.test(path) && !path.startsWith(`${workspace}/`));
  });
}

function isListed(path: string, listed: readonly string[]): boolean {
  return listed.some((pattern) => matchesGlob(path, pattern) || matchesGlob(join(path, 'file'), pattern));
}

describe('the inputs of tests that are not imported', () => {
  it.each(WORKSPACES)('are listed for %s', (workspace) => {
    const missing = namedOutside(workspace).filter((path) => !isListed(path, fixtures[workspace] ?? []));
    expect(missing).toEqual([]);
  });

  it.each(Object.entries(fixtures).filter(([folder]) => folder !== 'tools'))(
    'are there, and %s is a folder with tests',
    (folder, patterns) => {
      expect(globSync(`${folder}/**/*.spec.ts`, { cwd: ROOT, exclude: ['**/node_modules/**'] })).not.toEqual([]);
      for (const pattern of patterns) {
        expect([pattern, globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules/**'] }).length]).not.toEqual([
          pattern,
          0,
        ]);
      }
    },
  );

  it.each([
    ['joins to its own folder', 'libs/runtime', 'examples/runtimes'],
    ['joins to the root', 'apps/cli', 'examples/jobs/tiny-gpt.yaml'],
    ['ends with a name', 'libs/planner', 'research/planner-calibration/data/'],
  ])('are found in a path that a test %s', (_sentence, workspace, path) => {
    expect(namedOutside(workspace)).toContain(path);
  });
});
