/** Finds checkpoints in the directory of an engine, and decides from names and sizes whether one is complete. */
import type { EngineFormat, SavedFile } from './formats/checkpoint-format.ts';
import { firstMissing } from './formats/describe-missing.ts';
import { engineFormat } from './formats/formats.ts';
import { TORCH_SAVE_FILE } from './formats/torch-save.ts';

/** A checkpoint that an engine saved, by its directory. */
export interface EngineSave {
  readonly step: number;
  /** Below the save directory. */
  readonly directory: string;
}

/** The folders to search below the save directory, each with its pointer file if the engine writes one. */
export function saveLocations(
  format: EngineFormat,
): readonly { readonly folder: string; readonly pointer: string | undefined }[] {
  const { folders, pointer } = engineFormat(format).saves;
  return folders.map((folder) => ({
    folder,
    pointer: pointer === undefined ? undefined : below(folder, pointer.file),
  }));
}

/**
 * Saves that can be complete, oldest first. An engine saves one checkpoint after the other, so a save newer than the pointer
 * file is not complete. `pointer`: the text of that file, undefined if it does not exist.
 */
export function candidateSaves(
  format: EngineFormat,
  found: { readonly folder: string; readonly names: readonly string[]; readonly pointer?: string },
): readonly EngineSave[] {
  const { directory, pointer } = engineFormat(format).saves;
  const newest = pointer === undefined ? Infinity : (stepIn(pointer.text, (found.pointer ?? '').trim()) ?? -1);
  return found.names
    .flatMap((name) => {
      const step = stepIn(directory, name);
      return step === undefined || step > newest ? [] : [{ step, directory: below(found.folder, name) }];
    })
    .toSorted((one, other) => one.step - other.step);
}

/** What a save with these files misses, as the end of a sentence; undefined if nothing is missing by its names. */
export function describeIncomplete(
  format: EngineFormat,
  files: readonly SavedFile[],
  worldSize: number,
): string | undefined {
  const empty = files.find(({ bytes, path }) => bytes === 0 && TORCH_SAVE_FILE.test(path));
  if (empty !== undefined) return `${empty.path} is empty`;
  return engineFormat(format).describeMissing(new Set(files.map(({ path }) => path)), worldSize);
}

/**
 * The same of the files on the node of rank 0, where other nodes have files of the save on their own disks: whether it has what rank 0 writes last. DeepSpeed
 * and the Trainer do not wait for all ranks, so files that are missing then are found when all parts are together.
 */
export function describeIncompletePart(format: EngineFormat, files: readonly SavedFile[]): string | undefined {
  const { indexFile, jsonFiles = [] } = engineFormat(format);
  return firstMissing(new Set(files.map(({ path }) => path)), indexFile === undefined ? jsonFiles : [indexFile]);
}

/** The step in a name or a text; undefined if it has none. */
export function stepIn(pattern: RegExp, text: string): number | undefined {
  const digits = pattern.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function below(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}
