import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, statSync, type Stats } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { removeOwnFolders } from './abandoned-folders.ts';

const PREFIX = 'coxswain-run-';
const KEEP_ABANDONED_MS = 60 * 60_000;

/** The directory of one running system or server: `data` is removed when it stops, `logs` can be kept for debugging. */
export interface RunDirectory {
  readonly path: string;
  readonly data: string;
  readonly logs: string;
  /** Removes the directory. Logs are kept below `COXSWAIN_RUN_DIR` (the test runner removes them after a green run) and if `keepLogs` is set. */
  remove(options?: { readonly keepLogs?: boolean }): void;
}

/**
 * Creates a private directory for `name`, below `COXSWAIN_RUN_DIR` if that is set, else below the system's temporary
 * directory. Also removes this user's directories whose process died without cleanup more than an hour ago.
 */
export function createRunDirectory(name: string): RunDirectory {
  const parent = process.env['COXSWAIN_RUN_DIR'];
  if (parent === undefined) {
    removeAbandoned();
  } else {
    mkdirSync(parent, { recursive: true });
  }
  const prefix = parent === undefined ? `${PREFIX}${process.pid}-${name}-` : `${name}-`;
  const path = mkdtempSync(join(parent ?? tmpdir(), prefix));
  return runDirectoryAt(path, parent !== undefined);
}

/**
 * Uses a directory that the user chose and keeps; `remove` leaves it alone. Throws if another user may have planted it.
 */
export function persistentDirectory(path: string): RunDirectory {
  refusePlanted(path);
  return { ...runDirectoryAt(path, true), remove: () => undefined };
}

const STICKY = 0o1000;
const WRITE_BY_ALL = 0o002;

/**
 * Throws if `path` exists in a folder such as /tmp, in which everybody may create entries, and does not belong to this
 * user. Keys and tokens that this process would write there could be read or replaced by its owner.
 */
function refusePlanted(path: string): void {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  const me = process.getuid?.();
  if (entry === undefined || me === undefined || entry.uid === me) return;
  if (!isSharedByAll(statSync(dirname(resolve(path))))) return;
  const kind = entry.isSymbolicLink() ? 'symbolic link' : entry.isDirectory() ? 'directory' : 'file';
  throw new Error(
    `${path} is a ${kind} of user ${entry.uid}, in a folder that all users share; its owner could read the keys and tokens kept there. Choose another directory.`,
  );
}

function isSharedByAll({ mode }: Stats): boolean {
  return (mode & STICKY) !== 0 && (mode & WRITE_BY_ALL) !== 0;
}

function runDirectoryAt(path: string, alwaysKeepLogs: boolean): RunDirectory {
  const data = join(path, 'data');
  const logs = join(path, 'logs');
  mkdirSync(data, { recursive: true, mode: 0o700 });
  mkdirSync(logs, { recursive: true });
  return {
    path,
    data,
    logs,
    remove: ({ keepLogs = false } = {}) => {
      const kept = alwaysKeepLogs || keepLogs;
      rmSync(kept ? data : path, { recursive: true, force: true });
    },
  };
}

function removeAbandoned(): void {
  const ownerPid = new RegExp(`^${PREFIX}(\\d+)-`);
  removeOwnFolders(tmpdir(), (name, { modifiedAtMs }) => {
    const owner = ownerPid.exec(name)?.[1];
    const isOwnerDead = owner !== undefined && !existsSync(`/proc/${owner}`);
    return isOwnerDead && Date.now() - modifiedAtMs > KEEP_ABANDONED_MS;
  });
}
