#!/usr/bin/env node
// The sources are TypeScript that Node 24 runs as it is; an older Node on PATH hands over to the pinned one of the workspace.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const pinned = fileURLToPath(new URL('../../../node_modules/node/bin/node', import.meta.url));
if (Number(process.versions.node.split('.')[0]) >= 24) {
  keepCompiled();
  const { main: run } = await import(main);
  process.exitCode = await run([...impliedWords(), ...process.argv.slice(2)]);
} else if (existsSync(pinned)) {
  process.exitCode =
    spawnSync(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1;
} else {
  console.error(
    `coxswain needs Node.js 24 or later; this is ${process.version}. Run \`npm ci\` in the checkout to get the pinned one.`,
  );
  process.exitCode = 1;
}

/** kubectl runs the program of this name for the words after `kubectl coxswain` when its user presses Tab. */
function impliedWords() {
  return basename(process.argv[1]) === 'kubectl_complete-coxswain' ? ['complete', '--'] : [];
}

/**
 * Half of a short command's time is reading TypeScript: what was read once is kept, for the processes that this one starts too. Only where nobody
 * else writes: a user that is only a number, as containers have them, has no home, and reads again.
 */
function keepCompiled() {
  const { HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env;
  const directory = NODE_COMPILE_CACHE || join(XDG_CACHE_HOME || join(HOME ?? '', '.cache'), 'coxswain', 'compiled');
  // What is relative would lie wherever the command is given.
  if (!isAbsolute(directory)) return;
  // A directory that cannot be made is no error.
  if (!isMade(directory)) return;
  module.enableCompileCache(directory);
  process.env.NODE_COMPILE_CACHE = directory;
}

/** Makes one folder after the other: Node's own recursive way tries for ever where the parent exists but takes no folders, such as /proc. */
function isMade(directory) {
  try {
    if (existsSync(directory)) return true;
    if (!isMade(dirname(directory))) return false;
    mkdirSync(directory, { mode: 0o700 });
    return true;
  } catch {
    return existsSync(directory);
  }
}
