import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'coxswain-run-';
const KEEP_ABANDONED_MS = 60 * 60_000;

/** A directory of one running thing: `data` dies with it, `logs` stay when somebody may want to read them. */
export interface RunDirectory {
  readonly path: string;
  readonly data: string;
  readonly logs: string;
  /** Removes it; its logs stay under `COXSWAIN_RUN_DIR` (the test runner removes them when all is well) or when `keepLogs`. */
  remove(options?: { readonly keepLogs?: boolean }): void;
}

/**
 * Makes a private directory for `name`: below `COXSWAIN_RUN_DIR` if that is set, else below the system's temporary
 * directory. Directories whose owner died without cleaning up are removed an hour later by the next call.
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

/** A directory at a place that its user chose and keeps: `remove` leaves it alone. */
export function persistentDirectory(path: string): RunDirectory {
  return { ...runDirectoryAt(path, true), remove: () => undefined };
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
  for (const entry of readdirSync(tmpdir())) {
    const owner = new RegExp(`^${PREFIX}(\\d+)-`).exec(entry)?.[1];
    if (owner === undefined || existsSync(`/proc/${owner}`)) {
      continue;
    }
    const path = join(tmpdir(), entry);
    const ageMs = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (ageMs > KEEP_ABANDONED_MS) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}
