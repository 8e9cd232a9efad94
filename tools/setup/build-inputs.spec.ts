import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { builtWorkspaces, inputHash } from './build-inputs.ts';

const LAUNCHER = { folder: 'apps/launcher', script: 'node build.ts' };
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-builds-'));
  write('package-lock.json', '{}');
  write('apps/launcher/package.json', manifest('launcher', ['kube'], LAUNCHER.script));
  write('apps/launcher/src/main.ts', 'main');
  write('libs/kube/package.json', manifest('kube', ['units', 'zod']));
  write('libs/kube/src/client.ts', 'client');
  write('libs/units/package.json', manifest('units', ['kube'])); // A circle must not hang.
  write('libs/units/src/units.ts', 'units');
  write('libs/layout/package.json', manifest('layout', []));
  write('libs/layout/src/layout.ts', 'layout');
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

function manifest(name: string, dependencies: readonly string[], build?: string): string {
  const named = Object.fromEntries(dependencies.map((one) => [`@coxswain/${one}`, '0.1.0']));
  return JSON.stringify({ name: `@coxswain/${name}`, dependencies: named, ...(build && { scripts: { build } }) });
}

it('finds the workspaces that have a build script', () => {
  expect(builtWorkspaces(root)).toEqual([LAUNCHER]);
});

describe('a workspace is built again when', () => {
  it.each([
    ['a source of its own changes', () => write('apps/launcher/src/main.ts', 'other')],
    ['a source is added', () => write('apps/launcher/src/more.ts', '')],
    ['a source gets another name', () => renameSync(at('apps/launcher/src/main.ts'), at('apps/launcher/src/start.ts'))],
    ['a source of what it depends on changes', () => write('libs/kube/src/client.ts', 'other')],
    ['a source of what that depends on changes', () => write('libs/units/src/units.ts', 'other')],
    ['its configuration changes', () => write('apps/launcher/build.ts', 'other')],
    ['a package has another version', () => write('package-lock.json', '{"lockfileVersion":3}')],
  ])('%s', (_sentence, change) => {
    const before = inputHash(root, LAUNCHER);
    change();
    expect(inputHash(root, LAUNCHER)).not.toBe(before);
  });
});

describe('a workspace is left as it was built when', () => {
  it.each([
    ['nothing changes', () => undefined],
    ['only tests change', () => write('apps/launcher/src/main.spec.ts', 'test')],
    ['something is built', () => write('apps/launcher/dist/launcher', 'built')],
    ['a workspace changes that it does not depend on', () => write('libs/layout/src/layout.ts', 'other')],
  ])('%s', (_sentence, change) => {
    const before = inputHash(root, LAUNCHER);
    change();
    expect(inputHash(root, LAUNCHER)).toBe(before);
  });
});

function at(path: string): string {
  return join(root, path);
}
