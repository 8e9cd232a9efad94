import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPayload, readRecords } from '../formats/zip/read-archive.ts';
import type { Reading } from '../read/save-files.ts';
import { MemorySave } from './memory-save.ts';
import { torchArchive } from './torch-archive.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures');

/** A save below `libs/checkpoint/fixtures`, as a real library wrote it (`engines/fixtures`). */
export function fixture(path: string): MemorySave {
  const root = join(FIXTURES, path);
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new MemorySave(
    Object.fromEntries(
      files.map(({ parentPath, name }) => {
        const file = join(parentPath, name);
        return [file.slice(root.length + 1), Uint8Array.from(readFileSync(file))];
      }),
    ),
  );
}

/** A file of `torch.save` with another pickle, and with CRCs that are right: as if it had been saved so. */
export function repickled(bytes: Uint8Array, change: (pickle: string) => string): Uint8Array {
  const { 'data.pkl': pickle, ...others } = new MemorySave({ file: bytes }).run(readAllRecords(bytes.length));
  return torchArchive(change(Buffer.from(pickle ?? []).toString('latin1')), others);
}

function* readAllRecords(length: number): Reading<Readonly<Record<string, Uint8Array>>> {
  const archive = { file: 'file', offset: 0, length };
  const found: Record<string, Uint8Array> = {};
  for (const record of yield* readRecords(archive)) found[record.name] = yield* readPayload(archive, record);
  return found;
}
