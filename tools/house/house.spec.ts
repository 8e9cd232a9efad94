import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { declaredExports } from './exports.ts';
import { staleEntries, twoWayPairs, unlistedFolders } from './folders.ts';
import { namedFunctions, parse } from './functions.ts';
import { importsOf, indexExports, type PackageManifest } from './imports.ts';
import { measure, spreadOf, type Workspace } from './measures.ts';
import { folderViolations, longFiles } from './rules.ts';
import { importCircles, unusedCode } from './unused-code.ts';
import type { SourceText } from './sources.ts';
import { walkOf, wayToSeconds } from './walk.ts';

const file = (text: string, path = 'libs/kube/src/client.ts'): SourceText => ({ path, text });

describe('a function', () => {
  it.each([
    ['is a declaration', 'function f() {\n  return 1;\n}', [['f', 3]]],
    ['is what a variable is declared to be', 'const f = () =>\n  1;', [['f', 2]]],
    [
      'is a method, a constructor, an accessor',
      'class C { constructor() {} m() {} get a() { return 1; } }',
      [
        ['constructor', 1],
        ['m', 1],
        ['a', 1],
      ],
    ],
    ['is a property of an object', 'const o = { p: () => 1 };', [['p', 1]]],
    ['begins at its first word, not at its comment', '/** Why. */\nfunction f() {}', [['f', 1]]],
    [
      'within another counts in both',
      'function f() {\n  function g() {}\n}',
      [
        ['f', 3],
        ['g', 1],
      ],
    ],
    ['that is passed on belongs to the one that passes it', 'function f() { g(() => {}); }', [['f', 1]]],
    ['without a body is none', 'declare function f(): void;\ninterface I { m(): void }', []],
  ])('%s', (_sentence, text, want) => {
    expect(namedFunctions(parse(file(text))).map(({ name, lines }) => [name, lines])).toEqual(want);
  });
});

describe('an exported name', () => {
  it.each([
    ['is documented by the comment above it', '/** What. */\nexport const a = 1;', [['a', true]]],
    ['is not documented by another comment', '// why\nexport const a = 1;', [['a', false]]],
    [
      'that is a schema and a type needs one comment',
      '/** What. */\nexport const A = 1;\nexport type A = 1;',
      [['A', true]],
    ],
    ['is counted where it is declared', "export { a } from './a.ts';\nconst b = 1;", []],
  ])('%s', (_sentence, text, want) => {
    expect(declaredExports(parse(file(text))).map(({ name, isDocumented }) => [name, isDocumented])).toEqual(want);
  });
});

/** Writes a repository of its own: a text by path. */
function writeTree(root: string, texts: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

const KUBE = {
  name: '@coxswain/kube',
  folder: 'libs/kube',
  exports: { '.': './src/index.ts', './testing': './src/testing/index.ts' },
};

describe('an import circle', () => {
  const CASES: readonly (readonly [string, Readonly<Record<string, string>>, readonly (readonly string[])[]])[] = [
    ['is two files that import each other', { a: "import './b.ts';", b: "import './a.ts';" }, [['a', 'b']]],
    [
      'is closed by a type alone',
      { a: "import type { B } from './b.ts';\nexport type A = B;", b: "import type { A } from './a.ts';" },
      [['a', 'b']],
    ],
    ['is closed by a passed-on export', { a: "import './b.ts';", b: "export { a } from './a.ts';" }, [['a', 'b']]],
    ['is closed by an import while it runs', { a: "void import('./b.ts');", b: "import './a.ts';" }, [['a', 'b']]],
    ['is closed by a test', { a: "import './b.spec.ts';", 'b.spec': "import './a.ts';" }, [['a', 'b.spec']]],
    [
      'goes through any number of files',
      { a: "import './b.ts';", b: "import './c.ts';", c: "import './a.ts';" },
      [['a', 'b', 'c']],
    ],
    ['is none where two import a third', { a: "import './c.ts';", b: "import './c.ts';", c: '' }, []],
    ['is none where a file imports what imports another', { a: "import './b.ts';", b: "import './c.ts';", c: '' }, []],
    [
      'may lead through a library’s name',
      { index: "export { a } from './a.ts';", a: "export { a } from '@coxswain/case-8';" },
      [['a', 'index']],
    ],
  ];
  let found: string[][];

  /** One library for each case: dependency-cruiser takes a second to start. */
  beforeAll(async () => {
    const tree = mkdtempSync(join(tmpdir(), 'coxswain-house-'));
    mkdirSync(join(tree, 'node_modules/@coxswain'), { recursive: true });
    for (const [index, [, texts]] of CASES.entries()) {
      const library = `libs/case-${index}`;
      const sources = Object.entries(texts).map(([name, text]) => [`${library}/src/${name}.ts`, text] as const);
      const manifest = JSON.stringify({ name: `@coxswain/case-${index}`, exports: { '.': './src/index.ts' } });
      writeTree(tree, { [`${library}/package.json`]: manifest, ...Object.fromEntries(sources) });
      symlinkSync(`../../${library}`, join(tree, `node_modules/@coxswain/case-${index}`));
    }
    found = await importCircles(tree).finally(() => rmSync(tree, { recursive: true }));
  });

  it.each(CASES)('%s', (sentence, _texts, want) => {
    const folder = `libs/case-${CASES.findIndex(([one]) => one === sentence)}/src`;
    const own = found.filter(([first]) => first?.startsWith(`${folder}/`) === true);
    expect(own).toEqual(want.map((group) => group.map((name) => `${folder}/${name}.ts`)));
  });
});

let root: string;
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), 'coxswain-house-'))));
afterEach(() => rmSync(root, { recursive: true }));

describe('an export of a library’s index', () => {
  const [APP, TEST] = ['apps/api/src/main.ts', 'apps/api/src/x.spec.ts'];
  const UNUSED = ['libs/kube/src/a.ts a', 'libs/kube/src/index.ts a'];
  it.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    ['is unused when nobody imports it', {}, UNUSED],
    [
      'is used when a test elsewhere imports it',
      { [TEST]: "import { a } from '@coxswain/kube';\nprocess.exit(a);" },
      [],
    ],
    [
      'is used under another name',
      { 'e2e/x.itest.ts': "import { a as b } from '@coxswain/kube';\nprocess.exit(b);" },
      [],
    ],
    [
      'is used by who takes the whole module',
      { [APP]: "import * as kube from '@coxswain/kube';\nprocess.exit(kube.a);" },
      [],
    ],
    [
      'is unused when another entry is imported',
      { [APP]: "import { b } from '@coxswain/kube/testing';\nprocess.exit(b);" },
      UNUSED,
    ],
  ])('%s', async (_sentence, importer, want) => {
    writeKube({ 'libs/kube/src/index.ts': "export { a } from './a.ts';", ...importer });
    expect((await unusedCode(root)).toSorted()).toEqual(want);
  });

  it('is used behind a further entry when its own library’s tests import it', async () => {
    writeKube({
      'libs/kube/src/index.ts': '',
      'libs/kube/src/testing/index.ts': "export { a } from '../a.ts';",
      'libs/kube/src/a.spec.ts': "import { a } from './testing/index.ts';\nprocess.exit(a);",
    });
    expect(await unusedCode(root)).toEqual([]);
  });

  it('is unused where the entry file declares it as well', async () => {
    writeKube({ 'libs/kube/src/index.ts': "import { a } from './a.ts';\nexport const b = a;" });
    expect(await unusedCode(root)).toEqual(['libs/kube/src/index.ts b']);
  });

  function writeKube(texts: Readonly<Record<string, string>>): void {
    writeTree(root, {
      'package.json': JSON.stringify({ name: 'root', workspaces: ['libs/*', 'apps/*'] }),
      'libs/kube/package.json': JSON.stringify(KUBE),
      'libs/kube/src/a.ts': 'export const a = 1;',
      'apps/api/package.json': JSON.stringify({ name: '@coxswain/api' }),
      'apps/api/src/main.ts': '',
      ...texts,
    });
  }
});

describe('a file', () => {
  it('is unused when no program, test or index leads to it', async () => {
    writeTree(root, {
      'package.json': JSON.stringify({ name: 'root', workspaces: ['libs/*', 'apps/*'] }),
      'apps/api/package.json': JSON.stringify({ name: '@coxswain/api' }),
      'apps/api/src/main.ts': "import './used.ts';",
      'apps/api/src/used.ts': '',
      'apps/api/src/lost.ts': '',
    });
    expect(await unusedCode(root)).toEqual(['apps/api/src/lost.ts']);
  });
});

describe('a file above 400 lines', () => {
  const long = '\n'.repeat(400);
  it.each([
    ['is refused', `const a = 1;\n${long}`, 1],
    [
      'is accepted with a reason at its head',
      `/** A table; more than 400 lines because it has a row per GPU. */\n${long}const a = 1;`,
      0,
    ],
    [
      'is accepted with the reason after its imports',
      `import { b } from './b.ts';\n\n/** More than 400 lines: a row each. */\n${long}`,
      0,
    ],
    [
      'is accepted with a reason after another comment',
      `/* eslint */\n/** More than 400 lines: a row each. */\n${long}`,
      0,
    ],
    ['is refused when its head gives no reason', `/** A table. */\nconst a = 1;\n${long}/** 400 lines */`, 1],
    ['may be a test with a reason', `// More than 400 lines: one table.\n${long}`, 0],
    ['may be Python', `"""Why.\n\nMore than 400 lines: one program.\n"""\n${long}`, 0],
    ['is none with 400', long, 0],
  ])('%s', (_sentence, text, want) => {
    expect(longFiles([file(text)])).toHaveLength(want);
  });
});

const EMPTY_WORKSPACE: Workspace = { packages: [], folderOrder: {} };

describe('the order of folders', () => {
  const at = (...paths: readonly string[]): SourceText[] => paths.map((path) => file('', `libs/kube/src/${path}`));
  it.each<[string, readonly SourceText[], readonly string[], readonly string[]]>([
    ['may list every folder', at('watch/a.ts', 'write/b.ts'), ['watch', 'write'], []],
    ['may list files as well', at('watch/a.ts', 'write/b.ts', 'c.ts'), ['watch', 'write', 'c.ts'], []],
    ['must list every folder', at('watch/a.ts', 'write/b.ts'), ['watch'], ['libs/kube/src/write']],
    [
      'is required of a package with two folders',
      at('watch/a.ts', 'write/b.ts'),
      [],
      ['libs/kube/src/watch', 'libs/kube/src/write'],
    ],
    ['leaves out folders of tests', at('watch/a.ts', 'write/b.ts', 'testing/c.ts'), ['watch', 'write'], []],
  ])('%s', (_sentence, sources, order, want) => {
    expect(unlistedFolders(sources, { 'libs/kube': order })).toEqual(want);
  });

  it('is not required of a package with one folder', () => {
    expect(unlistedFolders(at('index.ts', 'watch/a.ts', 'testing/c.ts'), {})).toEqual([]);
  });

  it('lists no folder and no file that does not exist', () => {
    const order = { 'libs/kube': ['watch', 'a.ts', 'gone', 'gone.ts'] };
    const stale = ['libs/kube/src/gone', 'libs/kube/src/gone.ts'];
    expect(staleEntries(at('watch/a.ts', 'a.ts'), order)).toEqual(stale);
  });

  it('is part of what the check refuses', () => {
    const sources = at('watch/a.ts', 'write/b.ts');
    expect(folderViolations(sources, { packages: [], folderOrder: { 'libs/kube': ['watch', 'gone'] } })).toEqual([
      'libs/kube/src/write: in no order; list the folder in tools/lint/folder-order.mjs',
      'libs/kube/src/gone: listed in tools/lint/folder-order.mjs, but does not exist; remove the entry',
    ]);
  });
});

describe('two folders', () => {
  it.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    [
      'import each other through different files',
      { 'watch/a.ts': "import '../write/b.ts';", 'write/b.ts': '', 'write/c.ts': "import '../watch/a.ts';" },
      ['libs/kube/src: watch, write'],
    ],
    [
      'may import in one direction',
      { 'watch/a.ts': "import '../write/b.ts';", 'write/b.ts': '', 'write/c.ts': "import './b.ts';" },
      [],
    ],
    [
      'may be imported by tests from anywhere',
      { 'watch/a.ts': "import '../write/b.ts';", 'write/b.ts': '', 'write/b.spec.ts': "import '../watch/a.ts';" },
      [],
    ],
    ['do not count files in `src`', { 'a.ts': "import './write/b.ts';", 'write/b.ts': "import '../a.ts';" }, []],
  ])('%s', (_sentence, texts, want) => {
    const sources = Object.entries(texts).map(([path, text]) => file(text, `libs/kube/src/${path}`));
    expect(twoWayPairs(importsOf(sources, []))).toEqual(want);
  });
});

describe('an export of an entry file', () => {
  const KUBE_ALONE: PackageManifest = { ...KUBE, exports: { '.': './src/index.ts' } };
  it.each([
    ['is documented where it is declared', '/** What. */\nexport const a = 1;', "export { a } from './a.ts';", [true]],
    [
      'is not documented by the entry file',
      'export const a = 1;',
      "/** What. */\nexport { a } from './a.ts';",
      [false],
    ],
    [
      'is followed under its first name',
      '/** What. */\nexport const a = 1;',
      "export { a as b } from './a.ts';",
      [true],
    ],
    ['may be declared in the entry file', '', '/** What. */\nexport const a = 1;\nexport const b = 2;', [true, false]],
  ])('%s', (_sentence, declaring, entry, want) => {
    const sources = [file(declaring, 'libs/kube/src/a.ts'), file(entry, 'libs/kube/src/index.ts')];
    expect(indexExports(sources, [KUBE_ALONE]).map(({ isDocumented }) => isDocumented)).toEqual(want);
  });

  it('is left out when its entry is for tests', () => {
    const sources = [file('export const a = 1;', 'libs/kube/src/testing/index.ts')];
    expect(indexExports(sources, [KUBE])).toEqual([]);
  });
});

describe('the measures', () => {
  it('count tests, and what serves tests alone, per line of the rest of a package', () => {
    const { testPerSource } = measure(
      [
        file('a\nb\nc\nd\n'),
        file('a\n', 'libs/kube/src/client.spec.ts'),
        file('a\n', 'libs/kube/src/testing/fake.ts'),
        file('a\n', 'libs/layout/src/index.ts'),
      ],
      EMPTY_WORKSPACE,
    );
    expect(testPerSource).toEqual(
      new Map([
        ['libs/kube', 0.5],
        ['libs/layout', 0],
        ['all', 0.4],
      ]),
    );
  });

  it('leave tests out of functions, files and exports', () => {
    const { functions, files, documentedExports } = measure(
      [
        file('/** What. */\nexport function f() {}\n'),
        file('export function g() {\n\n\n}\n', 'libs/kube/src/client.spec.ts'),
      ],
      EMPTY_WORKSPACE,
    );
    expect([functions.max, files.max, documentedExports]).toEqual([1, 2, 1]);
  });

  it('name the middle, what nine of ten do not exceed, and the largest', () => {
    expect(spreadOf([10, 1, 2, 3, 4, 5, 6, 7, 8, 9])).toEqual({ p50: 5, p90: 9, max: 10 });
  });
});

describe('a walk', () => {
  it('stays in a file while its functions follow each other, and returns to one that was left', () => {
    expect(walkOf(['a.ts f', 'a.ts g', 'b.ts f', 'a.ts h'])).toEqual({ stays: 3, returns: 1, files: 2 });
  });

  it('takes the files of layout rules for one place', () => {
    const rules = ['libs/layout/src/rules/tensor-degrees.ts f', 'libs/layout/src/rules/data-degrees.ts g'];
    expect(walkOf(rules)).toEqual({ stays: 1, returns: 0, files: 1 });
  });

  it('leads from the file that reads layouts to the last function of time', () => {
    const way = ['apps/cli/src/layout-file.ts read', 'libs/layout/src/x.ts x', 'libs/planner/src/time/step.ts seconds'];
    expect(wayToSeconds(['apps/cli/src/main.ts main', ...way, 'apps/cli/src/main.ts print'])).toEqual(way);
  });

  it('says so when there is no such way', () => {
    expect(() => wayToSeconds(['apps/cli/src/main.ts main'])).toThrow('mend tools/house/walk.ts');
  });
});
