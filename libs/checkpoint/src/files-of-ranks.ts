import { rankOfFile } from './formats/formats.ts';
import type { CheckpointManifest } from './manifest.ts';

type ManifestFile = CheckpointManifest['files'][number];

/** Ranks of one pod, which check a checkpoint together. */
export interface RanksOfGang {
  /** Global, in any order. */
  readonly ranks: readonly number[];
  readonly worldSize: number;
}

/**
 * The files that these ranks check before a gang loads a checkpoint. Over all ranks of the gang each file appears exactly once,
 * so a restart checks no file twice. A file whose name shows a rank of this gang belongs to that rank; the others are
 * distributed in turn.
 */
export function filesOfRanks(
  files: readonly ManifestFile[],
  { ranks, worldSize }: RanksOfGang,
): readonly ManifestFile[] {
  const own = new Set(ranks);
  return files.filter(({ path }, index) => {
    const writer = rankOfFile(path);
    return own.has(writer === undefined || writer >= worldSize ? index % worldSize : writer);
  });
}
