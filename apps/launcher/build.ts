/**
 * Builds `dist/coxswain-launcher`: the launcher and a Node that runs it, as one file. Training images hold no Node and stay as they
 * are; the file needs glibc and libstdc++, which every image with PyTorch has.
 */
import { execFile, spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const run = promisify(execFile);
const HERE = dirname(fileURLToPath(import.meta.url));
const DIST = join(HERE, 'dist');
const TARGET = join(DIST, 'coxswain-launcher');
/** Where Node looks for an injected program; the value is documented with its single executable applications. */
const SENTINEL = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const RESOURCE = 'NODE_SEA_BLOB';

const started = performance.now();
await mkdir(DIST, { recursive: true });
const bundle = join(DIST, 'launcher.cjs');
const blob = join(DIST, 'launcher.blob');
const config = join(DIST, 'sea-config.json');
/** Renamed at the end, so that a build that was cut off leaves no half executable. */
const partial = `${TARGET}.${process.pid}.partial`;
try {
  await bundleTo(bundle);
  await writeFile(config, JSON.stringify(seaConfig(bundle, blob)));
  await run(process.execPath, ['--experimental-sea-config', config]);
  await copyFile(process.execPath, partial);
  await chmod(partial, 0o755);
  strip(partial);
  await inject(partial, blob);
  await rename(partial, TARGET);
} finally {
  for (const file of [partial, bundle, blob, config]) await rm(file, { force: true });
}
const megabytes = (await stat(TARGET)).size / 1e6;
process.stdout.write(
  `${TARGET}: ${megabytes.toFixed(0)} MB in ${((performance.now() - started) / 1000).toFixed(1)} s\n`,
);

async function bundleTo(outfile: string): Promise<void> {
  await build({
    entryPoints: [join(HERE, 'src', 'main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    minify: true,
    keepNames: true,
    legalComments: 'inline',
    // Optional native helpers of ws, which it does without.
    external: ['bufferutil', 'utf-8-validate'],
    logLevel: 'warning',
  });
}

function seaConfig(main: string, output: string): object {
  return {
    main,
    output,
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    useCodeCache: true,
    // A training image may set NODE_OPTIONS for a Node of its own.
    execArgvExtension: 'none',
    execArgv: ['--max-semi-space-size=2'],
  };
}

/** As a process of its own: the library prints a warning per section name that the stripped file no longer holds. */
async function inject(file: string, resource: string): Promise<void> {
  const postject = fileURLToPath(import.meta.resolve('postject/dist/cli.js'));
  await run(process.execPath, [postject, file, RESOURCE, resource, '--sentinel-fuse', SENTINEL]);
}

/** Symbols are a fifth of the file. Only before the injection: stripping moves the injected section, and the program crashes. */
function strip(file: string): void {
  const { error, status } = spawnSync('strip', [file], { stdio: 'ignore' });
  if (error !== undefined || status !== 0)
    process.stderr.write('strip is not available; the executable keeps its symbols\n');
}
