/** Removes saves that earlier runs of the job began and did not complete, so that they do not fill its claim. */
import { constants } from 'node:fs';
import { access, lstat, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Folder of a run below the job's own folder, as `saveDirectoryOf` (libs/checkpoint) names it: epoch, and incarnation from the second one. */
const RUN = /^epoch-(\d{1,9})(?:-(\d{1,9}))?$/;
/** Folder of a save that the reference engine and distributed checkpoints of torch use. */
const SAVE = /^step-\d{1,12}$/;
/** Files that are written last. With one of them a save may be complete: it stays. */
const MARKERS = ['manifest.json', '.metadata'] as const;
/** Files that such a save consists of. A folder with anything else is not only a save: it stays. */
const PART = /^(?:__\d+_\d+\.distcp(?:\.tmp)?|\.metadata\.tmp|manifest\.json\.tmp.*)$/;

/**
 * Removes unfinished saves of earlier runs and returns their folders. `saveDirectory`: the folder of this run. Folders of this run, of later
 * ones and of other jobs stay, and links are not followed. Rejects if storage does not answer.
 */
export async function removeUnfinishedSaves(saveDirectory: string): Promise<readonly string[]> {
  const own = runOf(basename(saveDirectory));
  if (own === undefined) return [];
  const removed: string[] = [];
  const jobDirectory = dirname(saveDirectory);
  for (const name of await namesIn(jobDirectory)) {
    const run = runOf(name);
    if (run === undefined || !isBefore(run, own)) continue;
    for (const save of await namesIn(join(jobDirectory, name))) {
      const directory = join(jobDirectory, name, save);
      if (!SAVE.test(save) || !(await isUnfinished(directory))) continue;
      await rm(directory, { recursive: true });
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

async function isUnfinished(directory: string): Promise<boolean> {
  const names = await namesIn(directory);
  if (names.length === 0 || !names.every((name) => PART.test(name))) return false;
  // Asked again by name: a network file system may list a folder as it was.
  const present = await Promise.all(MARKERS.map((marker) => exists(join(directory, marker))));
  return !present.includes(true);
}

/** Names in a folder; none if it does not exist, or is a link or a file. */
async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return (await lstat(directory)).isDirectory() ? await readdir(directory) : [];
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
