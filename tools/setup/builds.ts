import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '@coxswain/local-cluster';
import { builtWorkspaces, inputHash, type BuiltWorkspace } from './build-inputs.ts';
import type { Task } from './estimate.ts';
import type { Progress } from './progress.ts';
import { runCommand } from './run-command.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Written last into a workspace's `dist`: the hash of what was built. */
const STAMP = '.inputs-sha256';

/**
 * Builds every workspace that has a build script: the API (its decorators need a compiler), the dashboard and the
 * launcher's executable. What was built from the same inputs is kept.
 */
export async function ensureBuilds(progress: Progress): Promise<void> {
  const checkout = createHash('sha256').update(ROOT).digest('hex').slice(0, 16);
  await withLock(`builds-${checkout}`, async () => {
    const stale = builtWorkspaces(ROOT).filter((workspace) => !isBuilt(workspace));
    if (stale.length > 0) {
      const names = stale.map(({ folder }) => folder).join(', ');
      await progress.step(`build ${names}`, async () => void (await Promise.all(stale.map(build))));
    }
  });
}

/** What {@link ensureBuilds} will have to do. */
export function buildTasks(): Task[] {
  const stale = builtWorkspaces(ROOT).filter((workspace) => !isBuilt(workspace));
  return stale.map(({ folder }) => ({
    title: `build of ${folder}`,
    lane: folder,
    cpuSeconds: 15,
    parallel: 1,
    waitSeconds: 0,
  }));
}

function isBuilt(workspace: BuiltWorkspace): boolean {
  const stamp = stampOf(workspace);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === inputHash(ROOT, workspace);
}

async function build(workspace: BuiltWorkspace): Promise<void> {
  const { folder, script } = workspace;
  rmSync(stampOf(workspace), { force: true });
  // Before the build: what changes while it runs is built next time.
  const hash = inputHash(ROOT, workspace);
  await runCommand({
    name: `build ${folder}`,
    command: '/bin/sh',
    args: ['-c', script],
    cwd: join(ROOT, folder),
    env: { ...process.env, PATH: pinnedFirst() },
  });
  writeFileSync(stampOf(workspace), hash);
}

function stampOf({ folder }: BuiltWorkspace): string {
  return join(ROOT, folder, 'dist', STAMP);
}

/** The pinned Node builds, with the packages' own programs, as under `npm run`. */
function pinnedFirst(): string {
  const folders = [join(ROOT, `node_modules/node-linux-${process.arch}/bin`), join(ROOT, 'node_modules/.bin')];
  return [...folders, process.env['PATH']].join(':');
}
