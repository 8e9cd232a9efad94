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
  /** `.metadata` of DCP up to this size is read. Absent: what a pod of 1.5 GiB can hold. */
  readonly maxMetadataBytes?: number;
}

/** Metadata in a pod: two million chunks, which take 1.4 GB. */
export const POD_METADATA_BYTES = 384 << 20;
/** Metadata where memory is not limited: six million chunks, which take about 4 GB. FSDP of 405B parameters over 1,024 ranks, with moments, has 3.5 million. */
export const LARGEST_METADATA_BYTES = 1 << 30;

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
