/** `node tools/bootstrap.mjs tools/release/cli-package.ts DIR`: the command line as a package for npm, in JavaScript, with nothing left to install. */
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { cliManifest, type RootManifest } from './cli-manifest.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Programs of their own: what starts as a process or thread beside the command line. */
const ENTRIES = {
  main: 'apps/cli/src/main.ts',
  search: 'libs/planner-process/src/search.ts',
  watch: 'libs/planner-process/src/watch.ts',
} as const;
/** Older Nodes would end with a mistake of some line; they read this one. */
const BIN = `#!/usr/bin/env node
if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(\`coxswain needs Node.js 24 or later; this is \${process.version}\`);
  process.exit(1);
}
const { main } = await import('./main.js');
process.exitCode = await main(process.argv.slice(2));
`;

/** Packages in the older form ask for Node's own modules so. By a name of its own: sources import `createRequire` too. */
const REQUIRE =
  'import { createRequire as requireOfBundle } from "node:module"; const require = requireOfBundle(import.meta.url);';

/** Writes the package to `directory` and gives its version. */
async function makePackage(directory: string): Promise<string> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  await build({
    entryPoints: Object.fromEntries(Object.entries(ENTRIES).map(([name, path]) => [name, join(ROOT, path)])),
    outdir: join(directory, 'dist'),
    bundle: true,
    splitting: true,
    // Beside the entries, so that a program finds the other ones where it lies itself.
    chunkNames: '[name]-[hash]',
    platform: 'node',
    target: 'node24',
    format: 'esm',
    keepNames: true,
    legalComments: 'linked',
    banner: { js: REQUIRE },
    plugins: [programsAreJavaScript],
    logLevel: 'warning',
  });
  writeFileSync(join(directory, 'dist/coxswain.js'), BIN);
  chmodSync(join(directory, 'dist/coxswain.js'), 0o755);
  for (const file of ['LICENSE', 'README.md']) copyFileSync(join(ROOT, file), join(directory, file));
  const root = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as RootManifest;
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(cliManifest(root, process.env), null, 2)}\n`);
  return root.version;
}

/** The sources name their programs by the sources' file names. */
const programsAreJavaScript: Plugin = {
  name: 'programs are JavaScript',
  setup: ({ onLoad }) => {
    const names = Object.keys(ENTRIES).join('|');
    onLoad({ filter: /libs\/planner-process\/src\/[^/]+\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(
        new RegExp(`new URL\\('\\./(${names})\\.ts', import\\.meta\\.url\\)`, 'g'),
        "new URL('./$1.js', import.meta.url)",
      ),
      loader: 'ts',
    }));
  },
};

const directory = resolve(process.argv[2] ?? join(ROOT, 'dist/npm'));
process.stdout.write(`coxswain ${await makePackage(directory)} in ${basename(directory)}\n`);
