/** Where does a launcher put what it and its ranks alone need: a socket, the files of the engine? */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Every pod has the first, also where its root cannot be written to. Short: the path of a socket has at most 107 bytes. */
const PLACES = ['/dev/shm', '/tmp', '/var/tmp'] as const;

/** A directory that nobody but this user can enter; throws what the system says of the last place where there is room at none. */
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

export function removeOwnDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
