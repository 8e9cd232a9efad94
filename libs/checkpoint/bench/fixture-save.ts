import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { MemorySave } from '../src/testing/memory-save.ts';

/** Saves that real libraries made; `engines/fixtures` has the programs. */
export const FIXTURES = join(import.meta.dirname, '../fixtures');

/** A copy of one of them, such as `dcp-2.15.0`. */
export function fixtureSave(name: string): MemorySave {
  const folder = join(FIXTURES, name);
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = paths.filter((path) => statSync(join(folder, path)).isFile());
  return new MemorySave(
    Object.fromEntries(files.map((path) => [path, Uint8Array.from(readFileSync(join(folder, path)))])),
  );
}
