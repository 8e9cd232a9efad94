import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const WORKSPACES = globSync('{apps,libs,dev,research}/*/package.json', { cwd: ROOT }).map(dirname).toSorted();
/** Not part of what is installed for the program. */
const BESIDE = /\.(spec|itest|contract)\.tsx?$|(^|\/)(testing|bench|dist|node_modules)\//;
const IMPORT = /(?:^|\n)(?:import|export)\s(?:[^'";]*?\sfrom\s)?'([^'.][^']*)'/g;

/** `@scope/name` of `@scope/name/part`. */
function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function importedBy(workspace: string): ReadonlySet<string> {
  const files = globSync(['src/**/*.{ts,tsx}'], { cwd: join(ROOT, workspace) }).filter((file) => !BESIDE.test(file));
  const specifiers = files.flatMap((file) =>
    [...readFileSync(join(ROOT, workspace, file), 'utf8').matchAll(IMPORT)].map(([, specifier = '']) => specifier),
  );
  return new Set(specifiers.filter((specifier) => !isBuiltin(specifier)).map(packageOf));
}

/** In a checkout every package is found; in an image only those that a program's own package.json leads to. */
describe('a program is installed with whatever it imports', () => {
  it.each(WORKSPACES)('%s', (workspace) => {
    const manifest = JSON.parse(readFileSync(join(ROOT, workspace, 'package.json'), 'utf8')) as {
      readonly name: string;
      readonly dependencies?: Readonly<Record<string, string>>;
      readonly devDependencies?: Readonly<Record<string, string>>;
    };
    // The page and the launcher are bundled: what they are made of is not installed.
    const isBundled = ['apps/dashboard', 'apps/launcher'].includes(workspace);
    const declared = { ...manifest.dependencies, ...(isBundled ? manifest.devDependencies : {}) };
    const missing = [...importedBy(workspace)].filter((name) => name !== manifest.name && !(name in declared));
    expect(missing).toEqual([]);
  });
});
