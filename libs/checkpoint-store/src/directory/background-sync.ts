/** Starts to put a file on the disk while it is being written. The kernel alone waits for gigabytes, and then the disk works while nothing else does. */
import type { FileHandle } from 'node:fs/promises';

/** Bytes of a file after which the disk is asked to begin. */
const SYNC_BYTES = 32 << 20;

/** A process has few threads for files, and a sync holds one for long: one at a time for all files. */
let isBusy = false;

/** Syncs a file now and then, beside the writes. */
export class BackgroundSync {
  readonly #file: Pick<FileHandle, 'datasync'>;
  #unsynced = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(file: Pick<FileHandle, 'datasync'>) {
    this.#file = file;
  }

  /** So many more bytes were written. */
  wrote(bytes: number): void {
    this.#unsynced += bytes;
    if (this.#unsynced < SYNC_BYTES || isBusy) return;
    this.#unsynced = 0;
    isBusy = true;
    // A failure is that of the sync at the end too: the kernel reports it once for each open file, so it is kept.
    this.#running = Promise.all([this.#running, this.#file.datasync().finally(() => (isBusy = false))]).then(
      () => undefined,
    );
    this.#running.catch(() => undefined);
  }

  /**
   * Settles when no sync runs any more, so that the file can be closed.
   * @throws the error of the first sync that failed.
   */
  end(): Promise<void> {
    return this.#running;
  }
}
