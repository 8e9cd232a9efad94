/** The private directory of a launcher and its ranks, for a socket and the files of the engine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Every pod has the first, also where its root cannot be written to. Short: the path of a socket has at most 107 bytes. */
const PLACES = ['/dev/shm', '/tmp', '/var/tmp'] as const;

/** Creates a directory that only this user can enter. Throws the system errors if no place has room. */
export function makeOwnDirectory(places: readonly string[] = PLACES): string {
  const failures: string[] = [];
  for (const place of places) {
    try {
      return mkdtempSync(join(place, 'coxswain-'));
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(`no directory can be made for the ranks: ${failures.join('; ')}`);
}

/** Removes the directory with all that it holds. Does nothing if it is already gone. */
export function removeOwnDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
