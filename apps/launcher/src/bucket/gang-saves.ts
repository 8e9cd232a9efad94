/** Saves of a gang on several nodes, in a bucket: the pod of rank 0 publishes each one when every pod has uploaded the files of its ranks. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { join } from 'node:path';
import type { SavedBy, SavedCheckpoint } from '@coxswain/api-types';
import {
  DCP_INDEX_FILE,
  CheckpointManifest,
  describeIncomplete,
  type EngineFormat,
  hasReader,
  MANIFEST_FILE,
  type SavePart,
  type StoredFile,
  verifySave,
} from '@coxswain/checkpoint';
import {
  callForParts,
  type CheckpointStore,
  endCall,
  PartsDiffer,
  publishParts,
  readParts,
  runReading,
  SaveDiffers,
  type UploadedParts,
  uploadPart,
} from '@coxswain/checkpoint-store';
import { inspectionOf, isBroken, type SaveInspection } from '../checkpoints/inspect-save.ts';
import { describeTruncated, filesBelow } from '../checkpoints/saved-files.ts';
import type { SavedFact } from '../facts/engine-facts.ts';
import { type BucketSaves, messageOf, pauseAfter, type UploadOptions } from './bucket-saves.ts';

/** The gang that saves, as the pod of rank 0 knows it. */
export interface SavingGang {
  readonly saveDirectory: string;
  /** Of this pod, such as `0-7`. */
  readonly ranks: string;
  readonly worldSize: number;
  /** undefined: the engine writes manifests of its own, which list the files of all ranks. */
  readonly engine: { readonly format: EngineFormat; readonly savedBy: SavedBy } | undefined;
}

/** A save that is in the bucket, as it is reported. */
export interface PublishedSave {
  readonly checkpoint: SavedCheckpoint;
  readonly inspection: SaveInspection;
}

const POLL_MS = 1_000;
const PROGRESS_MS = 10_000;
/** Longest time in which no pod adds a file: a file of 100 GB takes minutes. */
const MOST_WAIT_MS = 600_000;
/** The same while newer saves wait, or the ranks have ended. */
const MOST_WAIT_IN_A_HURRY_MS = 120_000;
const MOST_TRIES_IN_A_HURRY = 3;
/** Larger metadata is not verified here: it takes eight times its size of memory. */
const MAX_METADATA_BYTES = 64 << 20;

/** The save is not what all pods together uploaded: another try changes nothing. */
class Unpublishable extends Error {}

/** Publishes one save after the other. */
export class GangSaves {
  readonly #saves: BucketSaves;
  readonly #onBroken: (why: string) => void;

  /** `onBroken`: a save is given up because of what its files are. */
  constructor(saves: BucketSaves, onBroken: (why: string) => void = () => undefined) {
    this.#saves = saves;
    this.#onBroken = onBroken;
  }

  /** Waits until the bucket has the files of every rank, verifies the save there and publishes it. Returns undefined if it is given up; the log says why. */
  async publish(fact: SavedFact, gang: SavingGang, options: UploadOptions): Promise<PublishedSave | undefined> {
    const { bucket, logLine, pause } = this.#saves.stores;
    const folder = `${gang.saveDirectory}/${fact.directory}`;
    const place = `${bucket.location}/${folder}`;
    const trial = new Trial(this.#saves, { fact, gang, folder });
    for (let tried = 1; ; tried++) {
      try {
        const published = await trial.run(options);
        // Ranks that have started since may use another copy.
        if (options.signal.aborted) return undefined;
        await this.#saves.keepOnly(folder);
        logLine(`Published ${place} with the files of ${gang.worldSize} ranks.`);
        return published;
      } catch (error) {
        const isBrokenSave = [SaveDiffers, PartsDiffer, Unpublishable].some((kind) => error instanceof kind);
        const isOver =
          isBrokenSave || options.signal.aborted || (options.isInHurry() && tried >= MOST_TRIES_IN_A_HURRY);
        const then = isOver ? ', and it is not reported' : '';
        logLine(`Try ${tried} to publish ${place} failed${then}: ${messageOf(error)}`);
        if (isOver) {
          if (isBrokenSave && !options.signal.aborted) this.#onBroken(messageOf(error));
          await this.#giveUp(fact, gang);
          return undefined;
        }
        await pause(pauseAfter(tried));
      }
    }
  }

  /** The marker stays, so that the next start of the job deletes what was uploaded. */
  async #giveUp({ directory }: SavedFact, { saveDirectory }: SavingGang): Promise<void> {
    await endCall(this.#saves.stores.bucket, { saveDirectory, directory }).catch(() => undefined);
    await this.#saves.discard(`${saveDirectory}/${directory}`);
  }
}

interface Trialled {
  readonly fact: SavedFact;
  readonly gang: SavingGang;
  readonly folder: string;
}

/** The tries to publish one save. */
class Trial {
  readonly #saves: BucketSaves;
  readonly #save: Trialled;
  readonly #uploaded = new Map<string, SavePart['files'][number]>();
  readonly #lists = new Map<string, SavePart>();
  #isListed = false;

  constructor(saves: BucketSaves, save: Trialled) {
    this.#saves = saves;
    this.#save = save;
  }

  async run(options: UploadOptions): Promise<PublishedSave> {
    const { bucket } = this.#saves.stores;
    const { fact, gang, folder } = this.#save;
    const call = { saveDirectory: gang.saveDirectory, directory: fact.directory };
    await callForParts(bucket, call);
    await this.#uploadOwn(options.signal);
    const text = await this.#waitForParts(options);
    const manifest = CheckpointManifest.parse(JSON.parse(text));
    const inspection = await inspectInBucket(bucket, { folder, manifest, text });
    if (isBroken(inspection.verification)) {
      const findings = inspection.verification?.findings.map(({ message }) => message).join(' ');
      throw new Unpublishable(`it is ${inspection.verification?.verdict ?? 'damaged'}: ${findings ?? ''}`);
    }
    options.signal.throwIfAborted();
    await publishParts(bucket, folder, text);
    await endCall(bucket, call);
    return { checkpoint: recorded(fact, manifest, text), inspection };
  }

  /** Files of this pod that are not in the bucket yet. */
  async #uploadOwn(signal: AbortSignal): Promise<void> {
    const { bucket, disk } = this.#saves.stores;
    const { gang, folder } = this.#save;
    const directory = join(disk.location, folder);
    const files = (await filesBelow(directory)) ?? [];
    if (files.every(({ path }) => this.#uploaded.has(path)) && this.#isListed) return;
    if ((await describeTruncated(directory, files)) !== undefined) return;
    const part = { folder, ranks: gang.ranks, firstRank: 0, files };
    await uploadPart(part, { from: disk, to: bucket, signal, uploaded: this.#uploaded });
    this.#isListed = true;
  }

  /** The manifest of all files. */
  async #waitForParts({ isInHurry, signal }: UploadOptions): Promise<string> {
    const { bucket, logLine, pause, nowMs } = this.#saves.stores;
    const { gang, folder } = this.#save;
    let last = '';
    let lastMs = nowMs();
    let lastLineMs = nowMs();
    for (;;) {
      signal.throwIfAborted();
      const parts = await readParts(bucket, { folder, worldSize: gang.worldSize }, this.#lists);
      const waiting = parts.merged.kind === 'waiting' ? `ranks ${parts.merged.ranks}` : undefined;
      const made = parts.merged.kind === 'whole' ? await this.#manifestOf(parts.merged.files) : undefined;
      if (made?.text !== undefined) return made.text;
      const missing = waiting ?? made?.missing ?? '';
      // A rank of this pod can write its last file after rank 0.
      if (waiting === undefined || !this.#isListed) await this.#uploadOwn(signal);
      const state = `${parts.listed} files, ${parts.bytes} bytes`;
      if (state !== last) [last, lastMs] = [state, nowMs()];
      if (nowMs() - lastMs > (isInHurry() ? MOST_WAIT_IN_A_HURRY_MS : MOST_WAIT_MS))
        throw new Unpublishable(`it waited ${Math.round((nowMs() - lastMs) / 1000)} s for ${missing} in vain`);
      if (nowMs() - lastLineMs >= PROGRESS_MS) {
        lastLineMs = nowMs();
        logLine(`Waiting for the files of ${missing}: ${bucket.location}/${folder} has ${describe(parts)}.`);
      }
      await pause(POLL_MS);
    }
  }

  /** The text of the manifest; `missing`: the engine's files are not all there. */
  async #manifestOf(files: SavePart['files']): Promise<{ readonly text?: string; readonly missing?: string }> {
    const { fact, gang, folder } = this.#save;
    const { engine, worldSize } = gang;
    if (engine === undefined) return await this.#ownManifest(files);
    const missing = describeIncomplete(engine.format, files, worldSize);
    if (missing !== undefined) return { missing: `other pods, because ${missing}` };
    const { savedBy, format } = engine;
    const manifest: CheckpointManifest = {
      formatVersion: 1,
      engine: savedBy.engine,
      format,
      step: fact.step,
      layout: savedBy.layout,
      training: {},
      files,
    };
    if (files.length === 0) throw new Unpublishable(`${folder} has no file`);
    return { text: JSON.stringify(manifest) };
  }

  /** The manifest that the engine wrote, compared with what was uploaded. */
  async #ownManifest(files: SavePart['files']): Promise<{ readonly text?: string; readonly missing?: string }> {
    const { disk, bucket } = this.#saves.stores;
    const { fact, folder } = this.#save;
    const path = `${folder}/${MANIFEST_FILE}`;
    const bytes = (await disk.list(folder)).find((file) => file.path === path)?.bytes ?? 0;
    const read = await disk.read(path, 0, bytes);
    const found = createHash('sha256').update(read).digest('hex');
    const { manifestSha256 } = fact;
    if (found !== manifestSha256)
      throw new SaveDiffers(path, {
        expected: `SHA-256 ${manifestSha256}`,
        found: `SHA-256 ${found}`,
        location: disk.location,
      });
    const text = new TextDecoder().decode(read);
    const manifest = CheckpointManifest.parse(JSON.parse(text));
    if (manifest.step !== fact.step)
      throw new Unpublishable(`the manifest has step ${manifest.step}, the engine reported ${fact.step}`);
    const uploaded = new Map(files.map((file) => [file.path, file]));
    for (const { path: name, bytes: size, sha256 } of manifest.files) {
      const file = uploaded.get(name);
      if (file === undefined) return { missing: `the pod that has ${name}` };
      if (file.bytes !== size || (sha256 !== undefined && file.sha256 !== sha256))
        throw new SaveDiffers(`${folder}/${name}`, {
          expected: `SHA-256 ${sha256 ?? ''} and ${size} bytes`,
          found: `SHA-256 ${file.sha256 ?? ''} and ${file.bytes} bytes`,
          location: bucket.location,
        });
    }
    return { text };
  }
}

function describe({ listed, bytes }: UploadedParts): string {
  return `${listed} files of ${(bytes / 1e9).toFixed(1)} GB`;
}

function recorded(
  { directory }: SavedFact,
  { step, format, files }: CheckpointManifest,
  text: string,
): SavedCheckpoint {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const manifestSha256 = createHash('sha256').update(text).digest('hex');
  return { step, directory, format, bytes, files: files.length, manifestSha256 };
}

/** V0 and V1 of a save in the bucket whose manifest is not there yet. Empty: no reader knows the format, or its metadata is very large. */
async function inspectInBucket(
  bucket: CheckpointStore,
  { folder, manifest, text }: { readonly folder: string; readonly manifest: CheckpointManifest; readonly text: string },
): Promise<SaveInspection> {
  const isLarge = manifest.files.some(({ path, bytes }) => path === DCP_INDEX_FILE && bytes > MAX_METADATA_BYTES);
  if (!hasReader(manifest.format) || isLarge) return {};
  const own = new TextEncoder().encode(text);
  const writtenMs = Date.now();
  const listed: StoredFile[] = [
    ...manifest.files.map(({ path, bytes }) => ({ path, bytes })),
    { path: MANIFEST_FILE, bytes: own.length },
  ].map((file) => ({ ...file, writtenMs }));
  let readBytes = 0;
  const look = await runReading(
    {
      isRemote: true,
      read: (path, offset, length) =>
        path === MANIFEST_FILE
          ? Promise.resolve(own.subarray(offset, offset + length))
          : bucket.read(`${folder}/${path}`, offset, length),
    },
    listed,
    verifySave(listed, { level: 'V1', crc32 }),
    { onBytes: (bytes) => (readBytes += bytes) },
  );
  return inspectionOf(look, { level: 'V1', by: 'Launcher', readBytes });
}
