/** Which saves does a directory of an engine hold? */
import { stepOfDirectory, savePointers } from '../formats/formats.ts';
import { DELETION_FILE, type StoredFile } from '../read/save-files.ts';

/** A save below a directory. */
export interface SaveBelow {
  /** Name of its folder. */
  readonly name: string;
  readonly step: number;
  /** Relative to the save. */
  readonly files: readonly StoredFile[];
  /** Its deletion has begun. */
  readonly isBeingDeleted: boolean;
  /** Something wrote to it after its deletion began: an engine can have saved the same step again. */
  readonly isWrittenSince: boolean;
}

/**
 * The saves in a directory with these files, in the order in which they were saved: by the time of their newest file, because a user may have
 * gone back to an earlier step. A folder whose name is not that of a save of any engine is left out.
 */
export function savesBelow(files: readonly StoredFile[]): readonly SaveBelow[] {
  const folders = Map.groupBy(
    files.filter(({ path }) => path.includes('/')),
    ({ path }) => path.slice(0, path.indexOf('/')),
  );
  return [...folders]
    .flatMap(([name, all]) => {
      const step = stepOfDirectory(name);
      if (step === undefined) return [];
      const own = all.map((file) => ({ ...file, path: file.path.slice(name.length + 1) }));
      return [{ name, step, files: own, ...deletionOf(own) }];
    })
    .toSorted((one, other) => newestMs(one) - newestMs(other) || one.step - other.step);
}

/** Whether the deletion of a save with these files has begun, and whether something wrote to it since. */
export function deletionOf(files: readonly StoredFile[]): Pick<SaveBelow, 'isBeingDeleted' | 'isWrittenSince'> {
  const deletion = files.find(({ path }) => path === DELETION_FILE);
  const begunMs = deletion?.writtenMs ?? Infinity;
  return {
    isBeingDeleted: deletion !== undefined,
    isWrittenSince: files.some(({ writtenMs = 0 }) => writtenMs > begunMs),
  };
}

/** The step that a pointer file of an engine names; undefined if `path` is none, or names no step. */
export function stepOfPointer(path: string, text: string): number | undefined {
  const pattern = savePointers().find(({ file }) => file === path)?.text;
  if (pattern === undefined) return undefined;
  const digits = pattern.exec(text.trim())?.[1];
  // Users write the name of a folder of another engine into such a file.
  return digits === undefined ? stepOfDirectory(text.trim()) : Number(digits);
}

/** Names of files in which engines name their newest save. */
export function pointerFiles(): readonly string[] {
  return savePointers().map(({ file }) => file);
}

function newestMs({ files }: Pick<SaveBelow, 'files'>): number {
  return files.reduce((newest, { writtenMs = 0 }) => Math.max(newest, writtenMs), 0);
}
