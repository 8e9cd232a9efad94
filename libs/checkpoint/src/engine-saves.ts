/** Which checkpoints has an engine saved in its own way, and is one complete, seen from names, sizes and ends of files? */
import type { EngineFormat, SavedFile } from './formats/checkpoint-format.ts';
import { engineFormat } from './formats/formats.ts';
import { TORCH_SAVE_FILE } from './formats/torch-save.ts';

/** A checkpoint of an engine, by the directory that it made for it. */
export interface EngineSave {
  readonly step: number;
  /** Below the save directory. */
  readonly directory: string;
}

/** Where to look below the save directory, and the file there that tells how far the engine is. */
export function placesOfSaves(
  format: EngineFormat,
): readonly { readonly folder: string; readonly pointer: string | undefined }[] {
  const { folders, pointer } = engineFormat(format).saves;
  return folders.map((folder) => ({
    folder,
    pointer: pointer === undefined ? undefined : below(folder, pointer.file),
  }));
}

/**
 * Saves that may be complete, oldest first: of an engine that writes which is its newest those up to it, since it saves one after the other.
 * `pointer`: the text of that file, undefined where there is none.
 */
export function savesAmong(
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

/** Why a save that has these files is not complete, as the end of a sentence; undefined when nothing is missing by its names. */
export function whyIncomplete(
  format: EngineFormat,
  files: readonly SavedFile[],
  worldSize: number,
): string | undefined {
  const empty = files.find(({ bytes, path }) => bytes === 0 && TORCH_SAVE_FILE.test(path));
  if (empty !== undefined) return `${empty.path} is empty`;
  return engineFormat(format).describeMissing(new Set(files.map(({ path }) => path)), worldSize);
}

function stepIn(pattern: RegExp, text: string): number | undefined {
  const digits = pattern.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function below(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}
