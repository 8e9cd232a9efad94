import type { Reading, StoredFile } from '@coxswain/checkpoint';
import type { CheckpointStore, StoreReader } from '../checkpoint-store.ts';
import { ReadAhead, type RangeReader } from './read-ahead.ts';

/** What a reading needs of a store. */
export type ReadableStore = Pick<CheckpointStore, 'isRemote' | 'read' | 'openReader'>;

/** What happens while a {@link Reading} runs. */
export interface ReadingOptions {
  /** Called before each read. What it throws ends the reading. */
  readonly beforeRead?: (path: string, bytes: number) => void;
  /** Receives how many bytes each part of a read gave. */
  readonly onBytes?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

/** Runs a reading of a save whose `files` the store listed, and returns what it found. Rejects once `signal` is aborted. */
export async function runReading<Found>(
  store: ReadableStore,
  files: readonly StoredFile[],
  reading: Reading<Found>,
  { beforeRead, onBytes, signal }: ReadingOptions = {},
): Promise<Found> {
  const reader = readerOf(store, files, onBytes);
  try {
    let step = reading.next();
    while (step.done !== true) {
      signal?.throwIfAborted();
      const { path, offset, length } = step.value;
      beforeRead?.(path, length);
      step = reading.next(await reader.read(path, offset, length));
    }
    return step.value;
  } finally {
    await reader.close();
  }
}

function readerOf(
  store: ReadableStore,
  files: readonly StoredFile[],
  onBytes: ReadingOptions['onBytes'] = () => undefined,
): StoreReader {
  const local = store.isRemote ? undefined : store.openReader?.(onBytes);
  if (local !== undefined) return local;
  const read: RangeReader = (path, offset, length) => store.read(path, offset, length);
  const sizes = new Map(files.map(({ path, bytes }) => [path, bytes]));
  const source = store.isRemote ? new ReadAhead(read, sizes) : { read };
  return {
    read: async (path, offset, length) => {
      const bytes = await source.read(path, offset, length);
      onBytes(bytes.length);
      return bytes;
    },
    close: () => Promise.resolve(),
  };
}
