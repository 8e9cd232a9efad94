import type { CheckpointStore } from '@coxswain/checkpoint-store';

/** Bytes that went through stores. */
export interface Transfer {
  readBytes: number;
  writtenBytes: number;
}

/** A store that adds what is read and written to `transfer`, and calls `onBytes` after each part. */
export function countedStore(store: CheckpointStore, transfer: Transfer, onBytes: () => void): CheckpointStore {
  return {
    location: store.location,
    isRemote: store.isRemote,
    list: (folder) => store.list(folder),
    folders: (folder) => store.folders(folder),
    read: async (path, offset, length, into) => {
      const bytes = await store.read(path, offset, length, into);
      transfer.readBytes += bytes.length;
      onBytes();
      return bytes;
    },
    write: (path, chunks, options) => store.write(path, counted(chunks), options),
    remove: (paths) => store.remove(paths),
  };

  async function* counted(chunks: Parameters<CheckpointStore['write']>[1]): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      yield chunk;
      transfer.writtenBytes += chunk.length;
      onBytes();
    }
  }
}
