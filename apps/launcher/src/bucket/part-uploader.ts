/** A pod without rank 0, on a node of its own: uploads the files of its ranks once the pod of rank 0 calls for the parts of a save. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SavePart } from '@coxswain/checkpoint';
import { calledSaves, uploadPart } from '@coxswain/checkpoint-store';
import { describeTruncated, filesBelow, type FoundFile, namesIn } from '../checkpoints/saved-files.ts';
import { type BucketSaves, messageOf } from './bucket-saves.ts';

/** Whose files are uploaded. */
export interface PartUploaderOptions {
  readonly saves: BucketSaves;
  readonly saveDirectory: string;
  /** Of this pod, such as `8-15`. */
  readonly ranks: string;
  readonly firstRank: number;
}

/** What this pod has uploaded of a save. */
interface Uploaded {
  readonly files: Map<string, SavePart['files'][number]>;
  /** The files in the last poll. */
  seen: string;
  /** The files in the list that was written last. */
  listed: string | undefined;
}

const POLL_MS = 1_500;

/**
 * Polls for calls until the ranks have ended and no call has been open for a while. The pod of rank 0 calls when its engine has completed the save. Most
 * engines complete it after the last file of the last rank. DeepSpeed does so before, so files must also be the same in two polls.
 */
export class PartUploader {
  readonly #options: PartUploaderOptions;
  readonly #uploaded = new Map<string, Uploaded>();
  readonly #stop = new AbortController();
  /** Since the ranks have ended: how long to wait for another call, in milliseconds. */
  #quietMs: number | undefined;
  #lastCallMs = 0;
  #lastError = '';
  readonly #ended: Promise<void>;

  constructor(options: PartUploaderOptions) {
    this.#options = options;
    this.#ended = this.#keepPolling();
  }

  /** The ranks are gone. Settles when no call has come for `quietMs`, or after `limitMs`. */
  async finish({ quietMs, limitMs }: { readonly quietMs: number; readonly limitMs: number }): Promise<void> {
    this.#lastCallMs = this.#options.saves.stores.nowMs();
    this.#quietMs = quietMs;
    const late = new AbortController();
    await Promise.race([this.#ended, delay(limitMs, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    this.#stop.abort(new Error('the pod ends'));
  }

  async #keepPolling(): Promise<void> {
    const { stores } = this.#options.saves;
    while (!this.#stop.signal.aborted) {
      try {
        await this.poll();
        this.#lastError = '';
      } catch (error) {
        const message = messageOf(error);
        if (message !== this.#lastError) stores.logLine(`The files of this pod are not uploaded yet: ${message}`);
        this.#lastError = message;
      }
      if (this.#quietMs !== undefined && stores.nowMs() - this.#lastCallMs > this.#quietMs) return;
      await stores.pause(POLL_MS);
    }
  }

  /** Uploads what is called for and complete. */
  async poll(): Promise<void> {
    const { saves, saveDirectory } = this.#options;
    const called = await calledSaves(saves.stores.bucket, saveDirectory);
    if (called.length > 0) this.#lastCallMs = saves.stores.nowMs();
    for (const directory of called) await this.#serve(directory);
  }

  async #serve(directory: string): Promise<void> {
    const { saves, saveDirectory, ranks, firstRank } = this.#options;
    const { bucket, disk, logLine } = saves.stores;
    const folder = `${saveDirectory}/${directory}`;
    const path = join(disk.location, folder);
    const files = (await filesBelow(path)) ?? [];
    const seen = JSON.stringify(files);
    const part = this.#uploaded.get(directory) ?? { files: new Map(), seen: '', listed: undefined };
    this.#uploaded.set(directory, part);
    const isSettled = part.seen === seen;
    part.seen = seen;
    if (!isSettled || part.listed === seen || (await describeTruncated(path, files)) !== undefined) return;
    if (part.listed !== undefined && !isAddition(part.listed, files))
      throw new Error(`files of ${folder} have changed since they were uploaded`);
    await uploadPart(
      { folder, ranks, firstRank, files },
      { from: disk, to: bucket, signal: this.#stop.signal, uploaded: part.files },
    );
    part.listed = seen;
    // Ranks that have started since may use another copy.
    if (this.#stop.signal.aborted) return;
    logLine(`Uploaded ${files.length} files of ranks ${ranks} to ${bucket.location}/${folder}.`);
    await saves.keepOnly(folder);
    await this.#removeOlder(directory);
  }

  /** Saves that the pod of rank 0 never called for, such as broken ones, would fill the disk. */
  async #removeOlder(directory: string): Promise<void> {
    const { saves, saveDirectory } = this.#options;
    const cut = directory.lastIndexOf('/') + 1;
    const folder = join(saves.stores.disk.location, saveDirectory, directory.slice(0, cut));
    for (const name of await namesIn(folder))
      if (isOlder(name, directory.slice(cut))) await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** Whether every file of the list before is there as it was. */
function isAddition(listed: string, files: readonly FoundFile[]): boolean {
  const now = new Set(files.map((file) => JSON.stringify(file)));
  return (JSON.parse(listed) as readonly FoundFile[]).every((file) => now.has(JSON.stringify(file)));
}

/** Whether a folder is named as another one with a smaller number. */
function isOlder(name: string, than: string): boolean {
  const [one, other] = [name, than].map((text) => /^(\D*)(\d{1,15})$/.exec(text));
  return one?.[1] !== undefined && one[1] === other?.[1] && Number(one[2]) < Number(other[2]);
}
