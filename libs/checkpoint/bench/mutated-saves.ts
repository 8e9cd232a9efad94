import { readdirSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { verifySave, type SaveLook } from '../src/verify/verify-save.ts';
import { FIXTURES, fixtureSave } from './fixture-save.ts';
import { mutate, seededNumbers } from '../src/testing/mutate.ts';
import type { MemorySave } from '../src/testing/memory-save.ts';

/** Names of files that say what a save holds; the rest are its content. */
const METADATA = /(?:^|\/)(?:[^/]*\.metadata|[^/]*\.json|[^/]*\.pt|[^/]*\.safetensors|latest[^/]*)$/;

/** Verifies saves of every fixture with one file changed, one save after the other. The same seed gives the same saves. */
export class MutatedSaves {
  readonly #names = readdirSync(FIXTURES).toSorted();
  readonly #saves = new Map<string, MemorySave>();

  /** What `verifySave` says of the save of this seed, and which save it is. */
  verify(seed: number): { readonly what: string; readonly look: SaveLook } {
    const next = seededNumbers(seed * 7919);
    const name = this.#names[next(this.#names.length)] ?? '';
    const save = this.#saveNamed(name);
    const paths = [...save.files.keys()].toSorted();
    const metadata = paths.filter((path) => METADATA.test(path));
    const of = metadata.length > 0 && next(8) > 0 ? metadata : paths;
    const path = of[next(of.length)] ?? '';
    const before = save.files.get(path) ?? new Uint8Array();
    save.files.set(path, mutate(before, next));
    try {
      const level = next(4) === 0 ? 'V3' : 'V1';
      return { what: `${path} of ${name}`, look: save.run(verifySave(save.list(), { level, crc32 })) };
    } finally {
      save.files.set(path, before);
    }
  }

  #saveNamed(name: string): MemorySave {
    const known = this.#saves.get(name) ?? fixtureSave(name);
    this.#saves.set(name, known);
    return known;
  }
}
