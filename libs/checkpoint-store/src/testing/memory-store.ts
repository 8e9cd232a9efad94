import type { StoredFile } from '@coxswain/checkpoint';
import type { CheckpointStore, FileChunks } from '../checkpoint-store.ts';

/** A process that ends before a write. */
export class Killed extends Error {}

/** Saves in memory. After `writesLeft` writes and deletions, each of one file, the process that uses it is killed. */
export class MemoryStore implements CheckpointStore {
  readonly location = 'memory';
  readonly isRemote = false;
  readonly files: Map<string, Uint8Array>;
  writesLeft = Infinity;

  constructor(files: Readonly<Record<string, Uint8Array>>) {
    this.files = new Map(Object.entries(files));
  }

  list(folder?: string): Promise<readonly StoredFile[]> {
    const listed = [...this.files].filter(([path]) => folder === undefined || path.startsWith(`${folder}/`));
    return Promise.resolve(listed.map(([path, { length }]) => ({ path, bytes: length, writtenMs: 0 })));
  }

  folders(folder: string): Promise<readonly string[]> {
    const below = [...this.files.keys()].filter((path) => path.startsWith(`${folder}/`));
    const names = below.map((path) => path.slice(folder.length + 1).split('/'));
    return Promise.resolve([...new Set(names.flatMap(([name = '', ...rest]) => (rest.length > 0 ? [name] : [])))]);
  }

  read(path: string, offset: number, length: number): Promise<Uint8Array> {
    return Promise.resolve((this.files.get(path) ?? new Uint8Array()).slice(offset, offset + length));
  }

  async write(path: string, chunks: FileChunks, { ifAbsent = false } = {}): Promise<boolean> {
    const all: Uint8Array[] = [];
    for await (const chunk of chunks) all.push(Uint8Array.from(chunk));
    if (ifAbsent && this.files.has(path)) return false;
    this.#spend();
    this.files.set(path, Uint8Array.from(all.flatMap((chunk) => [...chunk])));
    return true;
  }

  remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      this.#spend();
      this.files.delete(path);
    }
    return Promise.resolve();
  }

  #spend(): void {
    if (this.writesLeft <= 0) throw new Killed('killed');
    this.writesLeft--;
  }
}
