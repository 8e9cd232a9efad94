import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** What decides whether a folder may be removed. A symbolic link is not a directory, whatever it points to. */
export interface FolderFacts {
  readonly isDirectory: boolean;
  readonly uid: number;
  readonly modifiedAtMs: number;
}

/** A folder in which several users of one machine may keep theirs. Every method may throw. */
export interface SharedFolder {
  list(): readonly string[];
  /** The facts of the entry itself; a symbolic link is not followed. */
  read(name: string): FolderFacts;
  remove(name: string): void;
}

/** Which folders are removed. */
export interface Cleanup {
  /** The user that this process runs as. */
  readonly uid: number;
  readonly isAbandoned: (name: string, facts: FolderFacts) => boolean;
}

/**
 * Removes the abandoned folders of this user. Folders of other users stay, also when this process is root. A folder that
 * cannot be listed, read or removed stays too: cleanup never fails the work that it precedes.
 */
export function removeAbandonedFolders(folder: SharedFolder, cleanup: Cleanup): void {
  for (const name of attempt(() => folder.list()) ?? []) {
    attempt(() => {
      const facts = folder.read(name);
      if (facts.isDirectory && facts.uid === cleanup.uid && cleanup.isAbandoned(name, facts)) folder.remove(name);
    });
  }
}

/** The same for the folders below `parent` on this machine. */
export function removeOwnFolders(parent: string, isAbandoned: Cleanup['isAbandoned']): void {
  removeAbandonedFolders(folderOnDisk(parent), { uid: process.getuid?.() ?? 0, isAbandoned });
}

function folderOnDisk(parent: string): SharedFolder {
  return {
    list: () => readdirSync(parent),
    read: (name) => {
      const stats = lstatSync(join(parent, name));
      return { isDirectory: stats.isDirectory(), uid: stats.uid, modifiedAtMs: stats.mtimeMs };
    },
    remove: (name) => rmSync(join(parent, name), { recursive: true, force: true }),
  };
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
