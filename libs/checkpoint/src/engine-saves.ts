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
 * file is not complete.
 */
export function candidateSaves(format: EngineFormat, found: NamedSaves): readonly EngineSave[] {
  return savesIn(format, found).filter(({ step }) => step <= pointedStep(format, found));
}

/** Saves that the pointer file does not name yet. None of an engine that writes no pointer file. */
export function unpointedSaves(format: EngineFormat, found: NamedSaves): readonly EngineSave[] {
  return savesIn(format, found).filter(({ step }) => step > pointedStep(format, found));
}

/** Names in one folder. `pointer`: the text of the pointer file, undefined if it does not exist. */
export interface NamedSaves {
  readonly folder: string;
  readonly names: readonly string[];
  readonly pointer?: string;
}

function savesIn(format: EngineFormat, { folder, names }: NamedSaves): readonly EngineSave[] {
  const { directory } = engineFormat(format).saves;
  return names
    .flatMap((name) => {
      const step = stepIn(directory, name);
      return step === undefined ? [] : [{ step, directory: below(folder, name) }];
    })
    .toSorted((one, other) => one.step - other.step);
}

/** -1: the pointer file does not exist or cannot be understood. Infinity: the engine writes none. */
function pointedStep(format: EngineFormat, found: NamedSaves): number {
  const { pointer } = engineFormat(format).saves;
  return pointer === undefined ? Infinity : (stepIn(pointer.text, (found.pointer ?? '').trim()) ?? -1);
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
