/** The directory that a universal save is published in. What is written appears there whole or not at all. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CONVERSION_FILE, isPartOfConversion, UNIVERSAL_FOLDER } from '@coxswain/checkpoint';

/** What changes the directory. Tests end it between two changes. */
export interface TargetChanges {
  readonly mkdir: (path: string) => Promise<unknown>;
  readonly writeFile: (path: string, text: string) => Promise<void>;
  readonly rename: (from: string, to: string) => Promise<void>;
  readonly rm: (path: string) => Promise<void>;
}

const CHANGES: TargetChanges = {
  mkdir: (path) => mkdir(path),
  writeFile: (path, text) => writeFile(path, text),
  rename,
  rm: (path) => rm(path, { recursive: true, force: true }),
};

/** The target holds something else or has no room. That says nothing of the save that is to be converted. */
export class TargetUnusable extends Error {}

/** Folders that are not published. Those of a converter that was killed stay until the next one comes. */
const DRAFT = /^\.coxswain-draft-/;
const FILES_AT_ONCE = 16;
const MAX_ID_BYTES = 1024;

/** A place for one universal save, made from the save `id`. */
export class UniversalTarget {
  readonly #directory: string;
  readonly #id: string;
  readonly #changes: TargetChanges;
  /** The folder of this run for everything that is not published. */
  readonly draft: string;

  constructor(directory: string, id: string, changes: TargetChanges = CHANGES) {
    this.#directory = directory;
    this.#id = id;
    this.#changes = changes;
    this.draft = join(directory, `.coxswain-draft-${randomUUID()}`);
  }

  /** Whether it holds the save that this one would be. */
  async isPublished(): Promise<boolean> {
    const names = await this.#names();
    return names.includes(UNIVERSAL_FOLDER) && (await this.#ownerId(names)) === this.#id;
  }

  /**
   * Makes the draft, after everything that an earlier run left.
   * @throws Error if the directory holds something else.
   */
  async begin(): Promise<void> {
    const names = await this.#names();
    const drafts = names.filter((name) => DRAFT.test(name));
    const others = names.filter((name) => !DRAFT.test(name));
    const isOwn = names.includes(CONVERSION_FILE);
    if (names.includes(UNIVERSAL_FOLDER) && isOwn)
      throw new TargetUnusable(`${this.#directory} already holds another save. Name an empty directory.`);
    const other = others.find((name) => !isOwn || !isPartOfConversion(name));
    if (other !== undefined)
      throw new TargetUnusable(`${this.#directory} is not empty: it holds ${other}. Name an empty directory.`);
    await this.#changes.mkdir(this.draft);
    // By a rename first, so that a converter that still runs finds nothing to publish instead of a part of it.
    for (const [index, name] of [...drafts, ...others].entries()) {
      const left = join(this.draft, `left-${String(index)}`);
      await this.#changes.rename(join(this.#directory, name), left).catch(ignoreAbsent);
      await this.#changes.rm(left);
    }
  }

  /** Publishes what is in a folder of the draft. The folder of parameters comes last: without it the rest is no universal save. */
  async publish(folder: string): Promise<void> {
    await this.#changes.writeFile(join(folder, CONVERSION_FILE), this.#id);
    const names = await readdir(folder);
    const files = names.filter((name) => name !== UNIVERSAL_FOLDER && isPartOfConversion(name));
    await syncAll(folder);
    // The marker first: what a killed run has published of a save is recognised by it.
    const ordered = files.toSorted((one, other) => Number(other === CONVERSION_FILE) - Number(one === CONVERSION_FILE));
    for (const name of [...ordered, UNIVERSAL_FOLDER]) {
      await this.#changes.rename(join(folder, name), join(this.#directory, name));
      await syncOne(this.#directory);
    }
  }

  /** Deletes the draft. */
  async end(): Promise<void> {
    await this.#changes.rm(this.draft);
  }

  async #names(): Promise<readonly string[]> {
    return await readdir(this.#directory);
  }

  async #ownerId(names: readonly string[]): Promise<string | undefined> {
    const path = join(this.#directory, CONVERSION_FILE);
    const isFile = names.includes(CONVERSION_FILE) && (await lstat(path)).isFile();
    return isFile && (await lstat(path)).size <= MAX_ID_BYTES ? await readFile(path, 'utf8') : undefined;
  }
}

/** PyTorch does not wait until its files are on the disk. */
async function syncAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name));
  for (let start = 0; start < paths.length; start += FILES_AT_ONCE)
    await Promise.all(paths.slice(start, start + FILES_AT_ONCE).map(syncOne));
  await syncOne(folder);
}

async function syncOne(path: string): Promise<void> {
  const file = await open(path, constants.O_RDONLY);
  await file.sync().finally(() => file.close());
}

function ignoreAbsent(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
