import { globSync } from 'node:fs';
import { ROOT } from '../test/run-supervised.ts';
import { affectedArguments } from './affected-tests.ts';
import { nxEnvironment } from './nx-environment.ts';
// @ts-expect-error -- plain JavaScript, because nx loads it without a compiler
import { createNodesV2 } from './projects.mjs';

interface Project {
  readonly name: string;
  readonly namedInputs: { readonly fixtures: readonly string[] };
  readonly targets: Readonly<Record<string, { readonly command: string }>>;
}
type CreateNodes = (
  files: readonly string[],
  options: undefined,
  context: { readonly workspaceRoot: string },
) => readonly (readonly [string, { readonly projects: Readonly<Record<string, Project>> }])[];

const [, createNodes] = createNodesV2 as readonly [string, CreateNodes];
const manifests = globSync('{apps,libs,dev,research}/*/package.json', { cwd: ROOT });
const nodes = createNodes([...manifests, 'vitest.unit.config.mjs'], undefined, { workspaceRoot: ROOT });
const projects = Object.assign({}, ...nodes.map(([, { projects }]) => projects)) as Readonly<Record<string, Project>>;
const withTarget = (target: string): string[] =>
  Object.entries(projects)
    .filter(([, { targets }]) => target in targets)
    .map(([folder]) => folder)
    .toSorted();

describe('the projects of nx', () => {
  it('have a test target wherever there are unit tests', () => {
    const specs = globSync('{apps,libs,dev,research,tools,e2e,migrations}/**/*.spec.ts', {
      cwd: ROOT,
      exclude: ['**/node_modules/**'],
    });
    const folders = specs.map((path) => /^(?:(?:apps|libs|dev|research)\/)?[^/]+/.exec(path)?.[0] ?? '');
    expect(withTarget('test')).toEqual([...new Set(folders)].toSorted());
  });

  it('have a build target wherever package.json has a build script', () => {
    expect(withTarget('build')).toEqual(['apps/api', 'apps/dashboard', 'apps/launcher']);
  });

  it('build without the stamp of set-up, which is not valid for what nx restores', () => {
    expect(projects['apps/api']?.targets['build']?.command).toMatch(/^rm -f dist\/\.inputs-sha256 && swc /);
  });

  it('run the tests of their folder alone', () => {
    expect(projects['libs/units']?.targets['test']?.command).toMatch(/ --unit libs\/units\/$/);
  });

  it('take fixtures of other folders as inputs', () => {
    expect(projects['libs/runtime']?.namedInputs.fixtures).toEqual(['{workspaceRoot}/examples/runtimes/**/*']);
  });
});

describe('npm run check', () => {
  it('runs the tests that a change since its base affects', () => {
    expect(affectedArguments('1a2b3c')).toEqual([
      'affected',
      '--base=1a2b3c',
      '--target=test',
      '--output-style=static',
    ]);
  });

  it('runs every test where the clone has no base', () => {
    expect(affectedArguments(undefined)).toEqual(['run-many', '--target=test', '--output-style=static']);
  });
});

describe('the cache of nx', () => {
  const variables = ['XDG_CACHE_HOME', 'HOME'] as const;
  const before = variables.map((name) => process.env[name]);
  afterEach(() => void variables.forEach((name, index) => (process.env[name] = before[index] ?? '')));

  it('is below the cache folder of the user, one for each checkout', () => {
    process.env['XDG_CACHE_HOME'] = '/cache';
    const [one, other] = ['/checkout', '/other'].map((root) => nxEnvironment(root)['NX_CACHE_DIRECTORY']);
    expect(one).toMatch(/^\/cache\/coxswain\/nx\/[0-9a-f]{16}\/cache$/);
    expect(other).not.toBe(one);
  });
});
