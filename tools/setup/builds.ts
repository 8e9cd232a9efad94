import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Progress } from './progress.ts';
import { runCommand } from './run-command.ts';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Builds every workspace that has a build script: the API (its decorators need a compiler), the dashboard and the
 * launcher's executable. nx keeps what has not changed.
 */
export async function ensureBuilds(progress: Progress): Promise<void> {
  await progress.step('build API, dashboard and launcher', () =>
    runCommand({
      name: 'build workspaces',
      command: join(ROOT, 'node_modules/.bin/nx'),
      args: ['run-many', '-t', 'build', '--output-style=stream'],
      cwd: ROOT,
      // A daemon would outlive us; the pinned Node must be the one that builds.
      env: { ...process.env, NX_DAEMON: 'false', NX_TUI: 'false', PATH: pinnedFirst(), FORCE_COLOR: '0' },
    }),
  );
}

function pinnedFirst(): string {
  const folders = [join(ROOT, 'node_modules/node/bin'), join(ROOT, 'node_modules/.bin')].filter(existsSync);
  return [...folders, process.env['PATH']].join(':');
}
