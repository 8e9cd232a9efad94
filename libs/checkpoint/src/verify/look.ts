/** A look at a save: how far, and what it finds. */
import type { Crc32, Sha256 } from '../read/save-files.ts';
import type { SavedState } from '../read/saved-state.ts';
import { type Finding, type Level, LEVELS } from './finding.ts';

/** How far to look, and with what. */
export interface LookOptions {
  readonly level: Level;
  readonly crc32: Crc32;
  /** Absent: bytes are not compared with a manifest. */
  readonly sha256?: () => Sha256;
}

/** What a look at a save found. */
export interface Look {
  /** undefined: its metadata could not be read. */
  readonly state: SavedState | undefined;
  readonly findings: readonly Finding[];
  /** The format, if what the files hold says more than their names. */
  readonly foundFormat?: string;
}

/** Whether a look goes as far as `level`. */
export function isUpTo(level: Level, { level: wanted }: LookOptions): boolean {
  return LEVELS.indexOf(wanted) >= LEVELS.indexOf(level);
}
