import { basename } from 'node:path';
import { type CheckpointFiles, type FileDigest, realFiles } from '../checkpoints/checkpoint-files.ts';

/** What the system answers, by the name of the file; under '' for everything, directories too. */
export type Faults = Readonly<Record<string, string>>;

/** Instead of a name: what the system answers where a control file is written. */
export const CONTROL = 'the control file';

/** The real files, counted, with errors of the system planted. Time does not pass. */
export class CountingFiles implements CheckpointFiles {
  /** Names of the files that were opened, in order. */
  readonly opened: string[] = [];
  pauses = 0;
  /** How often a control file was read. */
  controls = 0;
  /** From then on nothing is wrong any more. */
  healsAfterPauses = Infinity;
  readonly #faults: Faults;

  constructor(faults: Faults = {}) {
    this.#faults = faults;
  }

  async sizeOf(path: string): Promise<number | 'no regular file'> {
    this.#open(path);
    return await realFiles.sizeOf(path);
  }

  async read(path: string, maxBytes: number): Promise<Buffer> {
    this.#open(path);
    return await realFiles.read(path, maxBytes);
  }

  async digestOf(path: string): Promise<FileDigest | 'no regular file'> {
    this.#open(path);
    return await realFiles.digestOf(path);
  }

  async namesIn(directory: string): Promise<readonly string[]> {
    this.#fail('');
    return await realFiles.namesIn(directory);
  }

  async writeAndReadBack(path: string, text: string): Promise<string> {
    this.#fail('');
    this.#fail(CONTROL);
    this.controls += 1;
    return await realFiles.writeAndReadBack(path, text);
  }

  pause(): Promise<void> {
    this.pauses += 1;
    return Promise.resolve();
  }

  #open(path: string): void {
    this.opened.push(basename(path));
    this.#fail('');
    this.#fail(basename(path));
  }

  #fail(name: string): void {
    const errno = this.#faults[name];
    if (errno === undefined || this.pauses >= this.healsAfterPauses) return;
    throw Object.assign(new Error(`${errno}: planted`), { code: errno });
  }
}
