import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

/** Whether the kernel has one hierarchy for all controllers (version 2) or one for each (version 1). */
function isUnified(): boolean {
  return existsSync(join(ROOT, 'cgroup.controllers'));
}

/** The hierarchies that a cgroup has to be made in. */
function hierarchies(): readonly string[] {
  return isUnified()
    ? [ROOT]
    : readdirSync(ROOT, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => join(ROOT, name));
}

/** Makes the cgroup `path`, such as `campaign/node-1`, with every controller; parents too. */
export function makeCgroup(path: string): void {
  for (const hierarchy of hierarchies()) {
    let parent = hierarchy;
    for (const part of path.split('/')) {
      const child = join(parent, part);
      if (isUnified()) passControllersOn(parent);
      if (!existsSync(child)) mkdirSync(child);
      // Version 1 begins a cpuset without processors, and takes no process into it.
      for (const file of ['cpuset.cpus', 'cpuset.mems'].filter(
        (name) => !isUnified() && existsSync(join(child, name)),
      )) {
        writeFileSync(join(child, file), readFileSync(join(parent, file)));
      }
      parent = child;
    }
  }
}

function passControllersOn(parent: string): void {
  const controllers = readFileSync(join(parent, 'cgroup.controllers'), 'utf8').trim().split(' ');
  writeFileSync(join(parent, 'cgroup.subtree_control'), controllers.map((name) => `+${name}`).join(' '));
}

/** Removes the cgroup and all below it; nothing may run in them any more. */
export function removeCgroup(path: string): void {
  for (const hierarchy of hierarchies()) {
    if (existsSync(join(hierarchy, path))) removeFolder(join(hierarchy, path));
  }
}

function removeFolder(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeFolder(join(folder, entry.name));
  }
  rmdirSync(folder);
}
