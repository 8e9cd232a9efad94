import { LARGEST_METADATA_BYTES, type Level, type SaveLook, type StoredFile, verifySave } from '@coxswain/checkpoint';
import { type ReadableStore, runReading } from '@coxswain/checkpoint-store';
import { formatBytes } from '@coxswain/units';
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Session } from '../session/session.ts';
import type { ReadSave } from './checkpoint-tables.ts';
import { openAndList, type StoreOptions, withStoreErrors } from './opened-store.ts';

/** Progress is shown for what takes longer. */
const QUIET_MS = 2000;

/** Reads the save at a location up to a level. */
export async function lookAtSave(
  session: Session,
  location: string,
  options: StoreOptions & { readonly level: Level },
): Promise<ReadSave> {
  return await withStoreErrors(async () => {
    const what = 'the directory of one save, such as checkpoint/step-1000';
    const { store, files } = await openAndList(session, location, options, what);
    const progress = progressOf(session, files);
    const found = await verifyFiles(session, store, files, { level: options.level, onBytes: progress.add });
    return { ...found, readBytes: progress.readBytes() };
  });
}

/** Verifies the save that these files of a store are. */
export async function verifyFiles(
  { signal }: Session,
  store: ReadableStore,
  files: readonly StoredFile[],
  { level, onBytes }: { readonly level: Level; readonly onBytes: (bytes: number) => void },
): Promise<SaveLook> {
  const look = verifySave(files, {
    level,
    crc32,
    sha256: () => createHash('sha256'),
    maxMetadataBytes: LARGEST_METADATA_BYTES,
  });
  return await runReading(store, files, look, { onBytes, signal });
}

/** Counts bytes, and prints a line on standard error if the last one is long enough ago. */
export function progressOf(
  session: Session,
  files: readonly StoredFile[],
): { readonly add: (bytes: number) => void; readonly readBytes: () => number } {
  const allBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let readBytes = 0;
  let lastMs = session.now().getTime();
  const add = (bytes: number): void => {
    readBytes += bytes;
    const nowMs = session.now().getTime();
    if (nowMs - lastMs < QUIET_MS) return;
    lastMs = nowMs;
    session.printError(`${formatBytes(readBytes)} of ${formatBytes(allBytes)} read`);
  };
  return { add, readBytes: () => readBytes };
}
