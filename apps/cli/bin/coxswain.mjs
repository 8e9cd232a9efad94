#!/usr/bin/env node
// The sources are TypeScript that Node 24 runs as it is; an older Node on PATH hands over to the pinned one of the workspace.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const pinned = fileURLToPath(new URL('../../../node_modules/node/bin/node', import.meta.url));
if (Number(process.versions.node.split('.')[0]) >= 24) {
  const { start } = await import('../src/start.ts');
  process.exitCode = await start();
} else if (existsSync(pinned)) {
  process.exitCode =
    spawnSync(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1;
} else {
  console.error(
    `coxswain needs Node.js 24 or later; this is ${process.version}. Run \`npm ci\` in the checkout to get the pinned one.`,
  );
  process.exitCode = 1;
}
