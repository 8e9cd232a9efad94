/** Reads the bytes of a save as a catalogue and a restore need it: whether they are sound, and what they hold. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  type CheckpointContents,
  type CheckpointVerification,
  MAX_FINDING_CHARACTERS,
  MAX_FINDINGS,
  type VerificationLevel,
} from '@coxswain/api-types';
import {
  contentsOf,
  hasReader,
  MANIFEST_FILE,
  type Reading,
  type SaveLook,
  type StoredFile,
  verifySave,
} from '@coxswain/checkpoint';
import { safeText } from '@coxswain/safe-text';
import type { CheckpointFiles } from './checkpoint-files.ts';
import { type CheckpointOnDisk, readManifest } from './checkpoint-verification.ts';
import { stored } from './file-list.ts';
import { memoryRoom } from './memory-room.ts';
import { hasUniversalCopy } from './universal-copy.ts';

/** What the bytes of a save say. Empty: no reader knows its format. */
export interface SaveInspection {
  readonly verification?: CheckpointVerification;
  readonly contents?: CheckpointContents;
}

/** Part of a long read: small enough that a slow mount shows progress. */
const PART_BYTES = 4 << 20;
const FILES_AT_ONCE = 16;
/** A network file system after a failover shows old names and sizes for some seconds. */
const TRIES = 3;
const PAUSE_MS = 1_000;
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const WORST_FIRST: readonly SaveLook['verdict'][] = ['damaged', 'incomplete', 'suspect', 'unverifiable'];

/** Reads from this size on are metadata, which takes {@link MEMORY_PER_BYTE} bytes of memory for each of its own. */
const LARGE_READ_BYTES = 8 << 20;
/** Measured with metadata of a million chunks: 149 MB, and 1 GB of memory. */
const MEMORY_PER_BYTE = 8;

/** The container has too little memory left to read the metadata; that says nothing of the save. */
export class TooLittleMemory extends Error {
  constructor(path: string, bytes: number, room: number) {
    super(`${path} has ${bytes} bytes, and the container has ${room} bytes of memory left to read it`);
    this.name = 'TooLittleMemory';
  }
}

/** How closely to read, by whom, and whom to notify of progress. */
export interface InspectOptions {
  readonly level: VerificationLevel;
  readonly by: CheckpointVerification['by'];
  readonly files: CheckpointFiles;
  /** Called whenever the file system has answered. */
  readonly onAnswer: () => void;
}

/** Whether a verification proves that a save must not be restored. */
export function isBroken(verification: CheckpointVerification | undefined): boolean {
  return verification?.verdict === 'damaged' || verification?.verdict === 'incomplete';
}

/**
 * Inspects the files that the manifest lists. Reads again, some seconds later, before it finds a save broken, and then the manifest once more: its SHA-256 is
 * known, so where it does not read right, storage is to blame.
 */
export async function inspectSave(checkpoint: CheckpointOnDisk, options: InspectOptions): Promise<SaveInspection> {
  for (let tried = 1; ; tried++) {
    const inspection = await inspectOnce(checkpoint, options);
    if (!isBroken(inspection.verification)) return inspection;
    if (tried === TRIES) {
      await readManifest(checkpoint, options.files);
      return inspection;
    }
    await options.files.pause(PAUSE_MS);
  }
}

async function inspectOnce(checkpoint: CheckpointOnDisk, options: InspectOptions): Promise<SaveInspection> {
  const { directory } = checkpoint;
  const { level, by, files, onAnswer } = options;
  const manifest = await readManifest(checkpoint, files);
  if (!hasReader(manifest.format)) return {};
  const paths = manifest.files.map(({ path }) => path);
  // It says step and ranks where the files do not, and its SHA-256 are the checksums of files that have none.
  const listed = await listOnDisk(directory, [MANIFEST_FILE, ...paths], onAnswer);
  const inspection = await lookAt(directory, listed, { level, by, onAnswer });
  const isConverted = manifest.format === 'deepspeed' && (await hasUniversalCopy(directory, files));
  const { contents } = inspection;
  return contents === undefined || !isConverted
    ? inspection
    : { ...inspection, contents: { ...contents, hasUniversal: true } };
}

/** Looks at these files of a directory. Empty: no reader knows the format. */
export async function lookAt(
  directory: string,
  listed: readonly StoredFile[],
  { level, by, onAnswer }: Omit<InspectOptions, 'files'>,
): Promise<SaveInspection> {
  const disk = new SaveReader(directory, onAnswer);
  const look = await disk.run(verifySave(listed, { level, crc32, sha256: () => createHash('sha256') }));
  return inspectionOf(look, { level, by, readBytes: disk.readBytes });
}

/** What is reported of a look. Empty: no reader knows the format. */
export function inspectionOf(
  look: SaveLook,
  seen: Pick<CheckpointVerification, 'level' | 'by' | 'readBytes'>,
): SaveInspection {
  if (look.state === undefined && look.verdict === 'unverifiable') return {};
  const contents = contentsOf(look, createHash('sha256'));
  const { level, by, readBytes } = seen;
  const at = new Date().toISOString();
  return {
    verification: { level, verdict: look.verdict, at, by, readBytes, findings: findingsOf(look) },
    ...(contents === undefined ? {} : { contents }),
  };
}

/** The worst first. Names of tensors and files are text that an engine chose. */
function findingsOf({ findings }: SaveLook): CheckpointVerification['findings'] {
  return findings
    .toSorted((one, other) => WORST_FIRST.indexOf(one.kind) - WORST_FIRST.indexOf(other.kind))
    .slice(0, MAX_FINDINGS)
    .map(({ kind, sentence }) => ({ kind, message: safeText(sentence, MAX_FINDING_CHARACTERS) }));
}

/** Files as they are on disk; those that are gone are left out, so that the look finds them missing. */
async function listOnDisk(directory: string, paths: readonly string[], onAnswer: () => void): Promise<StoredFile[]> {
  const found: StoredFile[] = [];
  for (let start = 0; start < paths.length; start += FILES_AT_ONCE) {
    const part = await Promise.all(paths.slice(start, start + FILES_AT_ONCE).map((path) => stored(directory, path)));
    onAnswer();
    for (const file of part) if (file !== undefined) found.push(file);
  }
  return found;
}

/** Gives a look the bytes that it asks for. Keeps the last file open, because a look reads one file after the other. */
class SaveReader {
  readonly #directory: string;
  readonly #onAnswer: () => void;
  readBytes = 0;

  constructor(directory: string, onAnswer: () => void) {
    this.#directory = directory;
    this.#onAnswer = onAnswer;
  }

  async run<Found>(reading: Reading<Found>): Promise<Found> {
    let open: { readonly path: string; readonly file: Awaited<ReturnType<typeof openFile>> } | undefined;
    try {
      let step = reading.next();
      while (step.done !== true) {
        const { path, offset, length } = step.value;
        checkRoom(path, length);
        if (open?.path !== path) {
          await open?.file.close();
          open = undefined;
          open = { path, file: await openFile(join(this.#directory, path)) };
        }
        step = reading.next(await this.#read(open.file, offset, length));
      }
      return step.value;
    } finally {
      await open?.file.close();
    }
  }

  /** Fewer bytes only at the end of the file. */
  async #read(file: Awaited<ReturnType<typeof openFile>>, offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const part = Math.min(PART_BYTES, length - filled);
      const { bytesRead } = await file.read(bytes, filled, part, offset + filled);
      this.#onAnswer();
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    this.readBytes += filled;
    return bytes.subarray(0, filled);
  }
}

/** Rejects a read for whose metadata the container has too little memory left. */
export function checkRoom(path: string, bytes: number): void {
  if (bytes < LARGE_READ_BYTES) return;
  const room = memoryRoom();
  if (room !== undefined && room < bytes * MEMORY_PER_BYTE) throw new TooLittleMemory(path, bytes, room);
}

async function openFile(path: string) {
  return await open(path, FLAGS);
}
