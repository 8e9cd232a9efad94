/** Reads the bytes of a save as a catalogue and a restore need it: whether they are sound, and what they hold. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  type CheckpointContents,
  type CheckpointVerification,
  MAX_FINDING_CHARACTERS,
  MAX_FINDINGS,
  type VerificationLevel,
} from '@coxswain/api-types';
import { contentsOf, hasReader, MANIFEST_FILE, type SaveLook, type StoredFile, verifySave } from '@coxswain/checkpoint';
import { DirectoryStore, runReading } from '@coxswain/checkpoint-store';
import { safeText } from '@coxswain/safe-text';
import type { CheckpointFiles } from './checkpoint-files.ts';
import { type CheckpointOnDisk, readManifest } from './checkpoint-verification.ts';
import { memoryRoom } from './memory-room.ts';
import { hasUniversalCopy } from './universal-copy.ts';

/** What the bytes of a save say. Empty: no reader knows its format. */
export interface SaveInspection {
  readonly verification?: CheckpointVerification;
  readonly contents?: CheckpointContents;
}

/** A network file system after a failover shows old names and sizes for some seconds. */
const TRIES = 3;
const PAUSE_MS = 1_000;
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
  const listed = await new DirectoryStore(directory).find([MANIFEST_FILE, ...paths], onAnswer);
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
  let readBytes = 0;
  const look = await runReading(
    new DirectoryStore(directory),
    listed,
    verifySave(listed, { level, crc32, sha256: () => createHash('sha256') }),
    {
      beforeRead: checkRoom,
      onBytes: (bytes) => {
        readBytes += bytes;
        onAnswer();
      },
    },
  );
  return inspectionOf(look, { level, by, readBytes });
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

/** Rejects a read for whose metadata the container has too little memory left. */
export function checkRoom(path: string, bytes: number): void {
  if (bytes < LARGE_READ_BYTES) return;
  const room = memoryRoom();
  if (room !== undefined && room < bytes * MEMORY_PER_BYTE) throw new TooLittleMemory(path, bytes, room);
}
