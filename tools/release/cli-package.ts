import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { ROOT } from '../images/image-names.ts';
import { cliManifest, type CliWorkspace, type RootManifest } from './cli-manifest.ts';

/** Programs of their own: what starts as a process or thread beside the command line. */
const ENTRIES = {
  start: 'apps/cli/src/start.ts',
  search: 'libs/planner-process/src/search.ts',
  watch: 'libs/planner-process/src/watch.ts',
} as const;
/** Older Nodes would end with a mistake of some line; they read this one. */
const BIN = `#!/usr/bin/env node
if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(\`coxswain needs Node.js 24 or later; this is \${process.version}\`);
  process.exit(1);
}
const { start } = await import('./start.js');
process.exitCode = await start();
`;

/** Packages in the older form ask for Node's own modules so. By a name of its own: sources import `createRequire` too. */
const REQUIRE =
  'import { createRequire as requireOfBundle } from "node:module"; const require = requireOfBundle(import.meta.url);';

/** Writes the command line as a package for npm, in JavaScript, with nothing left to install. */
export async function writeCliPackage(directory: string): Promise<void> {
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
  const manifest = cliManifest(
    readJson<RootManifest>('package.json'),
    readJson<CliWorkspace>('apps/cli/package.json'),
    process.env,
  );
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as T;
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
