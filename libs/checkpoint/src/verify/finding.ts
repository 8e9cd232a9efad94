/** What is wrong with a save, or cannot be known of it. */

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
