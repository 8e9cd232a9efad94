import { ESLint } from 'eslint';
import tseslint from 'typescript-eslint';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { importCircles } from '../house/unused-code.ts';

const root = resolve(import.meta.dirname, '../..');
/** Without the rules that need types: none of the rules below does, and types of the whole tree take half a minute. */
const untyped = [
  { languageOptions: { parserOptions: { projectService: false } } },
  tseslint.configs.disableTypeChecked,
];
const eslint = new ESLint({ cwd: root, overrideConfig: untyped as ESLint.Options['overrideConfig'] });

/** Rules that fire when `code` stands in an existing file of the repository. */
async function violations(filePath: string, code: string): Promise<readonly string[]> {
  const [result] = await eslint.lintText(code, { filePath: resolve(root, filePath) });
  return (result?.messages ?? []).map((message) => message.ruleId ?? message.message);
}

describe('the import boundaries', () => {
  it.each([
    [
      'core may not do I/O',
      'libs/layout/src/index.ts',
      "import { readFileSync } from 'node:fs';\nexport const x = readFileSync;",
      'no-restricted-imports',
    ],
    [
      'core may not import an adapter',
      'libs/layout/src/index.ts',
      "import { x } from '@coxswain/kube';\nexport const y = x;",
      'no-restricted-imports',
    ],
    [
      'core may not import a framework',
      'libs/lifecycle/src/index.ts',
      "import { x } from '@nestjs/common';\nexport const y = x;",
      'no-restricted-imports',
    ],
    [
      'core may not read the clock',
      'libs/fabric/src/index.ts',
      'export const now = (): number => Date.now();',
      'no-restricted-properties',
    ],
    [
      'core may not make a date of its own',
      'libs/fabric/src/index.ts',
      'export const now = (): Date => new Date();',
      'no-restricted-syntax',
    ],
    [
      'core may not draw random numbers',
      'libs/fabric/src/index.ts',
      'export const draw = (): number => Math.random();',
      'no-restricted-properties',
    ],
    [
      'core may not read the environment',
      'libs/engines/src/index.ts',
      'export const home = process.env.HOME;',
      'no-restricted-properties',
    ],
    [
      'core may not wait',
      'libs/checkpoint/src/index.ts',
      'export async function wait(): Promise<void> {}',
      'no-restricted-syntax',
    ],
    [
      'rules in a program may not do I/O either',
      'apps/cli/src/job-import/source.ts',
      "import { readFileSync } from 'node:fs';\nexport const x = readFileSync;",
      'no-restricted-imports',
    ],
    [
      'nobody imports an app',
      'libs/kube/src/index.ts',
      "import { x } from '@coxswain/operator';\nexport const y = x;",
      'no-restricted-imports',
    ],
    [
      'an app does not import an app',
      'apps/operator/src/main.ts',
      "import { x } from '@coxswain/api';\nexport const y = x;",
      'no-restricted-imports',
    ],
    [
      'nobody imports inner files',
      'libs/kube/src/index.ts',
      "import { x } from '@coxswain/layout/src/rank-map.ts';\nexport const y = x;",
      'no-restricted-imports',
    ],
    [
      'a folder imports from those below it alone',
      'apps/dashboard/src/job/curve.ts',
      "import { RankMap } from '../components/rank-map.tsx';\nexport const map = RankMap;",
      'import-x/no-restricted-paths',
    ],
    [
      'a module lists what it exports',
      'libs/kube/src/index.ts',
      "export * from './client.ts';",
      'no-restricted-syntax',
    ],
  ])('%s', async (_sentence, file, code, want) => {
    expect(await violations(file, code)).toContain(want);
  });

  // dependency-cruiser finds them with types and tests, in a tenth of the time that ESLint's rule took.
  it('modules do not import in a circle', async () => {
    const tree = mkdtempSync(join(tmpdir(), 'coxswain-boundaries-'));
    try {
      mkdirSync(join(tree, 'libs/api-types/src'), { recursive: true });
      writeFileSync(join(tree, 'libs/api-types/src/a.ts'), "import type { B } from './b.ts';\nexport type A = B;");
      writeFileSync(join(tree, 'libs/api-types/src/b.ts'), "export type { A as B } from './a.ts';");
      expect(await importCircles(tree)).toEqual([['libs/api-types/src/a.ts', 'libs/api-types/src/b.ts']]);
    } finally {
      rmSync(tree, { recursive: true });
    }
  });

  it('an ordinary core module passes', async () => {
    expect(await violations('libs/layout/src/index.ts', 'export const one = 1;\n')).toEqual([]);
  });
});
