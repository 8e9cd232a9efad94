import type { Reading, StoredFile } from '../read/save-files.ts';

/** A save in memory, whose files tests change. */
export class MemorySave {
  readonly files: Map<string, Uint8Array>;
  /** When files were last written, if not at 0. */
  readonly writtenMs = new Map<string, number>();
  readonly links = new Set<string>();

  constructor(files: Readonly<Record<string, Uint8Array>>) {
    this.files = new Map(Object.entries(files));
  }

  /** Its files, as a store lists them. */
  list(): readonly StoredFile[] {
    return [...this.files].map(([path, { length }]) => ({
      path,
      bytes: length,
      writtenMs: this.writtenMs.get(path) ?? 0,
      ...(this.links.has(path) ? { isLink: true } : {}),
    }));
  }

  /** Gives a look what it asks for, and returns what it found. */
  run<Found>(reading: Reading<Found>): Found {
    let step = reading.next();
    while (step.done !== true) {
      const { path, offset, length } = step.value;
      const file = this.files.get(path);
      if (file === undefined) throw new Error(`It reads ${path}, which does not exist.`);
      step = reading.next(file.subarray(offset, offset + length));
    }
    return step.value;
  }

  /** Changes a copy of a file. */
  edit(path: string, change: (bytes: Uint8Array) => Uint8Array): void {
    this.files.set(path, change(Uint8Array.from(this.files.get(path) ?? [])));
  }
}
