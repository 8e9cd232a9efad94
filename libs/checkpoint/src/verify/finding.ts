/** What is wrong with a save, or cannot be known of it. */
import { type UnreadableFile, UnknownForm, type UnreadableSave } from '../read/unreadable-save.ts';

/**
 * damaged: what is stored is not what was saved. incomplete: a part is missing. suspect: signs of damage that have another
 * explanation. unverifiable: nothing shows whether the content is right.
 */
export type FindingKind = 'damaged' | 'incomplete' | 'suspect' | 'unverifiable';

/** How closely a save is looked at: its marker and times, its structure, the envelopes of its items, all bytes. */
export const LEVELS = ['V0', 'V1', 'V2', 'V3'] as const;
/** One of {@link LEVELS}. */
export type Level = (typeof LEVELS)[number];

/** One thing that a look at a save found. */
export interface Finding {
  readonly level: Level;
  readonly kind: FindingKind;
  /** A sentence with its full stop: what is wrong, and the tensor or file. */
  readonly sentence: string;
}

/** What it means that something cannot be read. A form that an engine newer than these readers may write shows no damage. */
export function kindOfUnreadable(error: UnreadableSave): FindingKind {
  return error instanceof UnknownForm ? 'unverifiable' : 'damaged';
}

/** A finding for each file that cannot be read. */
export function describeUnreadable(files: readonly UnreadableFile[], level: Level = 'V1'): readonly Finding[] {
  return files.map(({ path, error }) => ({
    level,
    kind: kindOfUnreadable(error),
    sentence: `File ${path} ${error.message}.`,
  }));
}

/** Whether a file is in a form that is not known: what is missing without it says nothing of the save. */
export function hasUnknownForm(findings: readonly Finding[]): boolean {
  return findings.some(({ level, kind }) => level === 'V1' && kind === 'unverifiable');
}
