import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of the repository: its path from the root, and what it says. */
export interface SourceText {
  readonly path: string;
  readonly text: string;
}

/** Files that people write: TypeScript, JavaScript and Python, tests included, without what is generated or built. */
export function readSources(root: string): SourceText[] {
  const paths = globSync('{apps,libs,dev,research,tools,migrations,e2e,engines}/**/*.{ts,tsx,mjs,py}', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**', '**/*.generated.*', '**/__pycache__/**'],
  });
  return paths.sort().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Whether a file is a test or only serves tests: `*.spec.ts`, `*.itest.ts`, `testing/`, `bench/`, `tests/`, `e2e/`. */
export function isTest(path: string): boolean {
  return /\.(spec|itest)\.tsx?$|(^|\/)(testing|bench|tests|e2e)\//.test(path);
}

/** `libs/kube` of `libs/kube/src/client.ts`; `tools` of what stands in no package. */
export function packageOf(path: string): string {
  const [first = '', second = ''] = path.split('/');
  return ['apps', 'libs', 'dev', 'research', 'engines'].includes(first) ? `${first}/${second}` : first;
}

/** Lines as `wc -l` counts them: with comments and blank lines. */
export function lineCount(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

/** Whether the measures of functions and exports look at the file: TypeScript that is no test, of packages and tools. */
export function isMeasured(path: string): boolean {
  return /^(apps|libs|dev|research|tools)\/.*\.tsx?$/.test(path) && !isTest(path);
}
