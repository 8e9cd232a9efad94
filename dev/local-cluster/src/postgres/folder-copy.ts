import { createHash } from 'node:crypto';
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';

/**
 * SHA-256 of what a folder holds, in hex: names, contents, where links lead and what can be executed. Owners, times and
 * other permissions do not count.
 */
export function digestOf(folder: string): string {
  const hash = createHash('sha256');
  for (const name of entriesOf(folder)) {
    const path = join(folder, name);
    const stats = lstatSync(path);
    const { kind, content } = describe(path, stats);
    hash.update(`${kind}\0${name}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function describe(path: string, stats: Stats): { readonly kind: string; readonly content: string | Buffer } {
  if (stats.isSymbolicLink()) return { kind: 'link', content: readlinkSync(path) };
  if (stats.isDirectory()) return { kind: 'folder', content: '' };
  return { kind: isProgram(stats) ? 'program' : 'file', content: readFileSync(path) };
}

/**
 * Makes `target` a copy of `source` that everybody may read and only this user may change, all of it at once: nobody
 * ever sees half a copy, however many make it at the same time. Does nothing when there is one.
 */
export function copyFolder(source: string, target: string): void {
  if (existsSync(target)) return;
  const unfinished = mkdtempSync(`${target}.unfinished-`);
  try {
    for (const name of entriesOf(source)) copyEntry(join(source, name), join(unfinished, name));
    chmodSync(unfinished, 0o755);
    publish(unfinished, target);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function publish(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error; // Else somebody was faster; theirs is as good as ours.
  }
}

function copyEntry(from: string, to: string): void {
  const stats = lstatSync(from);
  if (stats.isSymbolicLink()) {
    symlinkSync(readlinkSync(from), to);
  } else if (stats.isDirectory()) {
    mkdirSync(to);
    chmodSync(to, 0o755); // Not in mkdir, where the umask would take its part.
  } else {
    copyFileSync(from, to, constants.COPYFILE_FICLONE);
    chmodSync(to, isProgram(stats) ? 0o755 : 0o644);
  }
}

function isProgram(stats: Stats): boolean {
  return (stats.mode & 0o100) !== 0;
}

/** Every path below `folder`, a folder before what is in it; links are not followed. */
function entriesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
}
