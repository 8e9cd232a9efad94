/** Which saves of earlier runs were begun and not completed? Only what cannot be complete is named: these saves are removed. */
import { stepIn } from './engine-saves.ts';
import type { CheckpointFormat, EngineFormat, HalfWritten } from './formats/checkpoint-format.ts';
import { engineFormat, FORMATS_OF_ENGINES } from './formats/formats.ts';

/** A save in a folder: its directory, and the files in it. */
export interface FoundSave {
  readonly name: string;
  /** Of every file below the directory. What is no regular file ends with a slash. */
  readonly paths: readonly string[];
}

/** Saves that lie in one folder, and the text of the pointer file beside them. */
export interface FoundSaves {
  readonly saves: readonly FoundSave[];
  readonly pointer?: string;
}

/** A save that is not marked as complete. */
export interface UnmarkedSave {
  readonly name: string;
  /** Whether names show that it is not complete. If they do not, it is only if one of its files is empty or cut off. */
  readonly isProven: boolean;
}

/** Formats whose half-written saves can be recognised. */
export function halfWrittenFormats(): readonly EngineFormat[] {
  return FORMATS_OF_ENGINES.filter((format) => ruleOf(format) !== undefined);
}

/** Whether a directory of that name can be a save of the format. */
export function isSaveName(format: EngineFormat, name: string): boolean {
  return stepOf(format, name) !== undefined;
}

/** Names of files that complete a save of the format, or may do so. */
export function markerFiles(format: EngineFormat): readonly string[] {
  return ruleOf(format)?.markers ?? [];
}

/**
 * Saves that may be half-written, by names. A save stays if one of its files is not known to its format, if it has a marker, or if the pointer file names it or a
 * later one.
 */
export function unmarkedSaves(format: EngineFormat, found: FoundSaves): readonly UnmarkedSave[] {
  const rule = ruleOf(format);
  if (rule === undefined) return [];
  const newest = pointedStep(format, found.pointer);
  const complete = completeSave(format, rule, found);
  return found.saves
    .filter((save) => (stepOf(format, save.name) ?? -1) > newest && isOnlySave(rule, save))
    .map((save) => ({ name: save.name, isProven: rule.proof === 'marker' || isShort(save, complete, rule) }));
}

function isOnlySave({ part, markers, own }: HalfWritten, { paths }: FoundSave): boolean {
  return paths.some((path) => own.test(path)) && paths.every((path) => part.test(path) && !markers.includes(path));
}

/** Whether the save lacks a file of its format that a complete save of the same run has. Other files, such as a user's notes, prove nothing. */
function isShort({ paths }: FoundSave, complete: FoundSave | undefined, rule: HalfWritten): boolean {
  const { part, markers, compared } = rule;
  if (compared !== undefined && !paths.some((path) => compared.test(path))) return false;
  const present = new Set(paths);
  return complete?.paths.some((path) => part.test(path) && !present.has(path) && !markers.includes(path)) === true;
}

/** The newest save beside them that is complete by its pointer or its marker; undefined: none is. */
function completeSave(
  format: EngineFormat,
  { markers }: HalfWritten,
  { saves, pointer }: FoundSaves,
): FoundSave | undefined {
  const newest = pointedStep(format, pointer);
  const isComplete = ({ name, paths }: FoundSave): boolean =>
    stepOf(format, name) === newest || paths.some((path) => markers.includes(path));
  return saves
    .filter(isComplete)
    .toSorted((one, other) => (stepOf(format, other.name) ?? -1) - (stepOf(format, one.name) ?? -1))[0];
}

/** -1: there is no pointer file. Infinity: it cannot be understood, so it may name any save. */
function pointedStep(format: EngineFormat, text: string | undefined): number {
  const { pointer } = engineFormat(format).saves;
  if (pointer === undefined || text === undefined) return -1;
  return stepIn(pointer.text, text.trim()) ?? Infinity;
}

function stepOf(format: EngineFormat, name: string): number | undefined {
  return stepIn(engineFormat(format).saves.directory, name);
}

function ruleOf(format: EngineFormat): HalfWritten | undefined {
  const found: CheckpointFormat = engineFormat(format);
  return found.halfWritten;
}
