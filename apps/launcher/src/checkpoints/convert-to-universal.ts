/** Converts a save of DeepSpeed into its universal format with DeepSpeed's own converter. */
import { createHash } from 'node:crypto';
import { mkdir, statfs, symlink } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  converterArguments,
  converterLimitMs,
  converterScratchBytes,
  converterWorkers,
  describeBadConversion,
  describeUnconvertible,
  isPartOfConversion,
  type SaveLook,
  type SaveToConvert,
  UNIVERSAL_CONVERTER,
  UNIVERSAL_FORMAT,
  verifySave,
} from '@coxswain/checkpoint';
import { type CheckpointStore, DirectoryStore, runReading, sourceIdOf } from '@coxswain/checkpoint-store';
import { formatBytes } from '@coxswain/units';
import { manifestSha256, writeManifest } from './converted-manifest.ts';
import { runConverter } from './converter-process.ts';
import type { Transfer } from './counted-store.ts';
import { memoryRoom } from './memory-room.ts';
import { TargetUnusable, UniversalTarget } from './universal-target.ts';

/** The converter as a program of the engine's image. */
const CONVERTER = ['python3', '-m', UNIVERSAL_CONVERTER] as const;
/** The same names for every save: the converter takes folders for patterns, and characters of a path would mean something else. */
const [SOURCE, RESULT] = ['save', 'universal'];

/** Where a save is converted. */
export interface UniversalWork {
  readonly source: CheckpointStore;
  /** Directory. */
  readonly target: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly transfer: Transfer;
  readonly logLine: (sentence: string) => void;
  /** Program that converts, and its first arguments. */
  readonly converter?: readonly string[];
}

/**
 * Publishes the universal save, once all its bytes were verified. A target that holds it already stays as it is. Returns the SHA-256 of its manifest, if the
 * save that it was made from has one.
 * @throws Error if no save was published.
 */
export async function convertToUniversal(work: UniversalWork): Promise<string | undefined> {
  const { source, signal } = work;
  const files = await source.list();
  const target = new UniversalTarget(work.target, sourceIdOf(new Uint8Array(), files));
  if (await target.isPublished()) {
    const made = await lookAt(new DirectoryStore(work.target), signal);
    const problem = describeBadConversion(made, made);
    if (problem !== undefined) throw new Error(`${work.target} holds the result of an earlier conversion: ${problem}`);
    return await manifestSha256(new DirectoryStore(work.target));
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  // What an earlier run left takes room.
  await target.begin();
  let manifest: string | undefined;
  try {
    await requireRoom(work.target, converterScratchBytes(bytes));
    const save = { files, look: await lookAt(source, signal) };
    const refusal = describeUnconvertible(save);
    if (refusal !== undefined) throw new Error(`${source.location} is not converted. ${refusal}`);
    await convertInto(target.draft, save, { ...work, bytes });
    const result = new DirectoryStore(join(target.draft, RESULT));
    const made = await lookAt(result, signal);
    const problem = describeBadConversion(made, save.look);
    if (problem !== undefined) throw new Error(`The converter made a save that is not right: ${problem}`);
    work.transfer.readBytes += bytes;
    signal.throwIfAborted();
    manifest = await writeManifest(source, result, { format: UNIVERSAL_FORMAT, isPart: isPartOfConversion });
    await target.publish(join(target.draft, RESULT));
  } finally {
    await target.end();
  }
  work.transfer.writtenBytes += await bytesIn(new DirectoryStore(work.target));
  return manifest;
}

async function convertInto(
  draft: string,
  save: SaveToConvert,
  work: UniversalWork & { readonly bytes: number },
): Promise<void> {
  const { source, environment, signal, logLine, bytes, converter = CONVERTER } = work;
  const workers = converterWorkers(save, { roomBytes: memoryRoom(), cpus: availableParallelism() });
  logLine(
    `DeepSpeed converts ${formatBytes(bytes)} with ${String(workers.extract)} and then ${String(workers.merge)} processes.`,
  );
  await mkdir(join(draft, RESULT));
  await symlink(resolve(source.location), join(draft, SOURCE));
  const written = new DirectoryStore(join(draft, RESULT));
  await runConverter({
    command: [...converter, '--input_folder', SOURCE, '--output_folder', RESULT, ...converterArguments(save, workers)],
    directory: resolve(draft),
    environment,
    limitMs: converterLimitMs(bytes),
    signal,
    onTick: () => {
      bytesIn(written).then(
        (so) => logLine(`The converter has written ${formatBytes(so)}, fragments among them.`),
        () => undefined,
      );
    },
  });
}

async function lookAt(store: CheckpointStore, signal: AbortSignal): Promise<SaveLook> {
  const files = await store.list();
  return await runReading(store, files, verifySave(files, { level: 'V3', crc32, sha256: () => createHash('sha256') }), {
    signal,
  });
}

async function bytesIn(store: CheckpointStore): Promise<number> {
  return (await store.list()).reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Before the save is read: a conversion that fails at its end costs as much as one that succeeds. */
async function requireRoom(directory: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  const free = bavail * bsize;
  if (free < needed)
    throw new TargetUnusable(
      `${directory} has ${formatBytes(free)} free, and the conversion writes up to ${formatBytes(needed)}. Make room, or name a target on another volume.`,
    );
}
