/** Removes saves that earlier runs of the job began and did not complete, so that they do not fill its claim. */
import { constants, type Dirent } from 'node:fs';
import { access, lstat, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type EngineFormat,
  type FoundSave,
  halfWrittenFormats,
  headEnd,
  isSaveName,
  lastTensorEnd,
  markerFiles,
  saveLocations,
  unmarkedSaves,
} from '@coxswain/checkpoint';
import { describeTruncated, filesBelow, textOf, withOpenFile } from '../checkpoints/saved-files.ts';

/** Folder of a run below the job's own folder, as `saveDirectoryOf` (libs/checkpoint) names it: epoch, and incarnation from the second one. */
const RUN = /^epoch-(\d{1,9})(?:-(\d{1,9}))?$/;
const MOST_FOLDERS_DEEP = 4;
/**
 * Begins the name of a folder that is being removed. The rest of a save whose removal was killed may no longer prove that the save is unfinished; its name does
 * that for the next launcher.
 */
const BEING_REMOVED = '.coxswain-removed-';
/** Of a safetensors file, before its header. */
const LENGTH_BYTES = 8;

/**
 * Removes unfinished saves of earlier runs and returns their folders. `saveDirectory`: the folder of this run. Folders of this run, of later
 * ones and of other jobs stay, and so does what holds one of the `used` directories or lies in it. Links are not followed. Rejects if storage does not answer.
 * `remove` removes a folder with all that it holds.
 */
export async function removeUnfinishedSaves(
  saveDirectory: string,
  used: readonly string[] = [],
  remove: (directory: string) => Promise<void> = (directory) => rm(directory, { recursive: true }),
): Promise<readonly string[]> {
  const own = runOf(basename(saveDirectory));
  if (own === undefined) return [];
  const removed: string[] = [];
  const jobDirectory = dirname(saveDirectory);
  for (const name of await namesIn(jobDirectory)) {
    const run = runOf(name);
    if (run === undefined || !isBefore(run, own)) continue;
    for (const half of await leftIn(join(jobDirectory, name))) await remove(half);
    for (const directory of await unfinishedIn(join(jobDirectory, name))) {
      if (used.some((one) => isWithin(one, directory) || isWithin(directory, one))) continue;
      const half = join(dirname(directory), `${BEING_REMOVED}${basename(directory)}`);
      await rename(directory, half);
      await remove(half);
      removed.push(directory);
    }
  }
  return removed;
}

interface Run {
  readonly epoch: number;
  readonly incarnation: number;
}

function runOf(name: string): Run | undefined {
  const [, epoch, incarnation = '1'] = RUN.exec(name) ?? [];
  return epoch === undefined ? undefined : { epoch: Number(epoch), incarnation: Number(incarnation) };
}

function isBefore(one: Run, other: Run): boolean {
  return one.epoch < other.epoch || (one.epoch === other.epoch && one.incarnation < other.incarnation);
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}

/** What earlier launchers began to remove in the folder of a run. */
async function leftIn(runDirectory: string): Promise<readonly string[]> {
  const folders = new Set(halfWrittenFormats().flatMap((format) => saveLocations(format).map(({ folder }) => folder)));
  const found: string[] = [];
  for (const folder of folders) {
    const directory = join(runDirectory, folder);
    const names = (await namesIn(directory)).filter((name) => name.startsWith(BEING_REMOVED));
    found.push(...names.map((name) => join(directory, name)));
  }
  return found;
}

/** Half-written saves in the folder of a run, of every format: the job may have changed its engine since. */
async function unfinishedIn(runDirectory: string): Promise<readonly string[]> {
  const found: string[] = [];
  const isDirectory = (await namesIn(runDirectory)).length > 0;
  for (const format of isDirectory ? halfWrittenFormats() : []) {
    for (const { folder, pointer } of saveLocations(format)) {
      const directory = join(runDirectory, folder);
      const names = (await namesIn(directory)).filter((name) => isSaveName(format, name));
      if (names.length === 0) continue;
      const text = pointer === undefined ? undefined : await textOf(join(runDirectory, pointer));
      const saves = await Promise.all(names.map((name) => foundSave(directory, name)));
      for (const save of unmarkedSaves(format, { saves, ...(text === undefined ? {} : { pointer: text }) })) {
        const path = join(directory, save.name);
        if ((save.isProven || (await hasBrokenFile(path))) && !(await hasMarker(format, path))) found.push(path);
      }
    }
  }
  return found;
}

async function foundSave(folder: string, name: string): Promise<FoundSave> {
  return { name, paths: await pathsBelow(join(folder, name), '') };
}

/** Of every file. What is no regular file, or lies too deep, gets a slash at its end. */
async function pathsBelow(directory: string, folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await entriesOf(join(directory, folder))) {
    const path = join(folder, entry.name);
    const isDeep = path.split('/').length >= MOST_FOLDERS_DEEP;
    if (entry.isDirectory() && !isDeep) found.push(...(await pathsBelow(directory, path)));
    else found.push(entry.isFile() ? path : `${path}/`);
  }
  return found;
}

async function hasBrokenFile(directory: string): Promise<boolean> {
  const files = (await filesBelow(directory)) ?? [];
  for (const { path } of files.filter(({ bytes }) => bytes === 0))
    if (await isEmpty(join(directory, path))) return true;
  if ((await describeTruncated(directory, files)) !== undefined) return true;
  const weights = files.filter(({ path }) => path.endsWith('.safetensors'));
  for (const { path } of weights) if (await isCutOff(join(directory, path))) return true;
  return false;
}

async function isEmpty(path: string): Promise<boolean> {
  return await withOpenFile(path, (_file, bytes) => Promise.resolve(bytes === 0));
}

async function isCutOff(path: string): Promise<boolean> {
  return await withOpenFile(path, async (file, bytes) => {
    const readTo = async (end: number): Promise<Uint8Array> => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(end), 0, end, 0);
      return buffer.subarray(0, bytesRead);
    };
    const end = headEnd(await readTo(LENGTH_BYTES));
    if (end === undefined) return false;
    return end > bytes || (lastTensorEnd(await readTo(end)) ?? 0) > bytes;
  });
}

/** Asked by name: a network file system may list a folder as it was. */
async function hasMarker(format: EngineFormat, directory: string): Promise<boolean> {
  const present = await Promise.all(markerFiles(format).map((marker) => exists(join(directory, marker))));
  return present.includes(true);
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return (await entriesOf(directory)).map(({ name }) => name);
}

/** What lies in a folder; nothing if it does not exist, or is a link or a file. */
async function entriesOf(directory: string): Promise<readonly Dirent[]> {
  try {
    return (await lstat(directory)).isDirectory() ? await readdir(directory, { withFileTypes: true }) : [];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    (error: unknown) => (error as NodeJS.ErrnoException).code !== 'ENOENT',
  );
}
