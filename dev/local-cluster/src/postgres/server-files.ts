import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { copyFolder, digestOf } from './folder-copy.ts';
import { findPostgres, programsOf, type PostgresInstallation, type PostgresPrograms } from './postgres-programs.ts';
import { openRootPlace, ROOT_PLACES } from './root-place.ts';
import { serverUser, type ServerUser } from './server-user.ts';

/** Where a server finds what it needs, such that the user it runs as can reach all of it. */
export interface ServerFiles {
  readonly programs: PostgresPrograms;
  /** Path for the data of a new server whose directory is `belongsTo`; none where the data can lie in that itself. */
  readonly newDataFolder?: (belongsTo: string) => string;
  /** Gives what this process made to the user that the server runs as; none where that is this process's own. */
  readonly giveAway?: (path: string) => void;
}

/**
 * The installed programs; for root, a copy of them in a place that another user can reach, and folders for data there.
 * Throws what to do when there is no such place.
 */
export function serverFiles(): ServerFiles {
  const user = serverUser();
  const installed = findPostgres();
  return user === undefined ? { programs: programsOf(installed.folder) } : filesInRootPlace(user, installed);
}

function filesInRootPlace(user: ServerUser, installed: PostgresInstallation): ServerFiles {
  const reasons: string[] = [];
  for (const place of ROOT_PLACES) {
    try {
      openRootPlace(place);
      const programs = programsIn(place, installed);
      tryProgram(programs.initdb, user);
      return {
        programs,
        newDataFolder: (belongsTo) => newDataFolder(place, belongsTo),
        giveAway: (path) => chownSync(path, user.uid, user.gid),
      };
    } catch (error) {
      reasons.push(`${place}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(
    `PostgreSQL refuses to run as root, and user "${user.name}" cannot run it from any of these folders:\n` +
      reasons.map((reason) => `  ${reason}\n`).join('') +
      'Run this as an ordinary user. Or give root one of these folders, on a disk from which programs may be started.',
  );
}

let verified: { readonly place: string; readonly programs: PostgresPrograms } | undefined;

/** The copy in `place` of what is installed, made when it is missing; its name says its content, which is compared once per process. */
function programsIn(place: string, { version, folder }: PostgresInstallation): PostgresPrograms {
  if (verified?.place !== place) {
    const digest = digestOf(folder);
    const copy = join(place, `postgresql-${version}-${digest.slice(0, 16)}`);
    copyFolder(folder, copy);
    if (digestOf(copy) !== digest) throw new Error(`${copy} is not what it was copied from; remove it`);
    verified = { place, programs: programsOf(copy) };
  }
  return verified.programs;
}

/** Throws when the user cannot start the program: the disk may forbid programs, or this root may not change its user. */
function tryProgram(path: string, { name, uid, gid }: ServerUser): void {
  const tried = spawnSync(path, ['--version'], { uid, gid, cwd: '/', env: {}, encoding: 'utf8' });
  if (tried.status !== 0) {
    throw new Error(`user "${name}" cannot start ${path}: ${tried.error?.message ?? tried.stderr.trim()}`);
  }
}

const OWNER_FILE = '.belongs-to';
const KEEP_ABANDONED_MS = 7 * 24 * 3600_000;

/** A folder name below `place` for the data of one server, with a note that names the server. */
function newDataFolder(place: string, belongsTo: string): string {
  const all = join(place, 'data');
  mkdirSync(all, { recursive: true });
  chmodSync(all, 0o711); // Each server may enter its own; none may list those of others.
  removeAbandoned(all);
  const folder = join(all, randomBytes(8).toString('hex'));
  writeFileSync(`${folder}${OWNER_FILE}`, belongsTo, { mode: 0o600 });
  return folder;
}

/**
 * Removes the data of servers that were killed: their directory disappeared at least a week ago. Data that cannot be
 * removed stay; a new server starts all the same.
 */
function removeAbandoned(all: string): void {
  for (const note of readdirSync(all).filter((name) => name.endsWith(OWNER_FILE))) {
    try {
      const path = join(all, note);
      if (isMissing(readFileSync(path, 'utf8'))) {
        if (Date.now() - statSync(path).mtimeMs > KEEP_ABANDONED_MS)
          removeDataFolder(join(all, basename(note, OWNER_FILE)));
      } else {
        utimesSync(path, new Date(), new Date());
      }
    } catch {
      continue; // Its server has just removed it, or it is not in our power.
    }
  }
}

/** False if the path exists, and if it cannot be known: root may be unable to enter another user's network folder. */
function isMissing(path: string): boolean {
  try {
    lstatSync(path);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** Deletes the data of a server that has ended. */
export function removeDataFolder(folder: string): void {
  for (const path of [folder, `${folder}${OWNER_FILE}`]) {
    rmSync(path, { recursive: true, force: true });
  }
}
