import { chmodSync, lstatSync, mkdirSync, statSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Folders in which root keeps what PostgreSQL needs, the best first. As root the server runs as another user, who may
 * be unable to enter the checkout, the cache or the temporary folder: a root account's home is closed to others.
 */
export const ROOT_PLACES = ['/var/lib/coxswain-local', '/var/tmp/coxswain-local', '/tmp/coxswain-local'] as const;

/** What decides whether a folder can be trusted. A link is not a folder. */
export interface FolderFacts {
  readonly isDirectory: boolean;
  readonly uid: number;
  /** Permission bits, the sticky bit included. */
  readonly mode: number;
}

const WRITE_BY_OTHERS = 0o022;
const STICKY = 0o1000;
const ENTER_BY_OTHERS = 0o001;

/**
 * Why programs that lie in `place` cannot be trusted: somebody else than root could have put them there, or could
 * replace them. Undefined when only root can.
 */
export function whyUnsafe(place: FolderFacts, parent: FolderFacts): string | undefined {
  if (!place.isDirectory) return 'it is not a folder';
  if (place.uid !== 0) return `it belongs to user ${place.uid}, not to root`;
  if ((place.mode & WRITE_BY_OTHERS) !== 0) return 'users other than root may write to it';
  if (parent.uid !== 0) return `the folder above it belongs to user ${parent.uid}, not to root`;
  if ((parent.mode & WRITE_BY_OTHERS) !== 0 && (parent.mode & STICKY) === 0)
    return 'users other than root may rename what is in the folder above it';
  if ((parent.mode & ENTER_BY_OTHERS) === 0) return 'only root may enter the folder above it';
  return undefined;
}

/** Makes `place`, which others may enter and only root may change. Throws the reason when that cannot be had. */
export function openRootPlace(place: string): void {
  try {
    mkdirSync(place, { mode: 0o755 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const why = whyUnsafe(factsOf(lstatSync(place)), factsOf(statSync(dirname(place))));
  if (why !== undefined) throw new Error(why);
  chmodSync(place, 0o755); // Whatever the umask left of it.
}

function factsOf(stats: Stats): FolderFacts {
  return { isDirectory: stats.isDirectory(), uid: stats.uid, mode: stats.mode & 0o7777 };
}
