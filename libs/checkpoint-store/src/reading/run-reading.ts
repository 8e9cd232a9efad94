import type { Reading, StoredFile } from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { ReadAhead, type RangeReader } from './read-ahead.ts';

/** What a reading needs of a store. */
export type ReadableStore = Pick<CheckpointStore, 'isRemote' | 'read'>;

/** What happens while a {@link Reading} runs. */
export interface ReadingOptions {
  /** Receives how many bytes each read gave. */
  readonly onBytes?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

/** Runs a reading of a save whose `files` the store listed, and returns what it found. Rejects once `signal` is aborted. */
export async function runReading<Found>(
  store: ReadableStore,
  files: readonly StoredFile[],
  reading: Reading<Found>,
  { onBytes, signal }: ReadingOptions = {},
): Promise<Found> {
  const read = readerOf(store, files);
  let step = reading.next();
  while (step.done !== true) {
    signal?.throwIfAborted();
    const { path, offset, length } = step.value;
    const bytes = await read(path, offset, length);
    onBytes?.(bytes.length);
    step = reading.next(bytes);
  }
  return step.value;
}

function readerOf(store: ReadableStore, files: readonly StoredFile[]): RangeReader {
  const read: RangeReader = (path, offset, length) => store.read(path, offset, length);
  if (!store.isRemote) return read;
  const ahead = new ReadAhead(read, new Map(files.map(({ path, bytes }) => [path, bytes])));
  return (path, offset, length) => ahead.read(path, offset, length);
}
