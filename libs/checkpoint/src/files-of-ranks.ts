import { rankOfFile } from './formats/formats.ts';
import type { CheckpointManifest } from './manifest.ts';

type ManifestFile = CheckpointManifest['files'][number];

/** Ranks of a gang that look at a checkpoint together, as those of one pod do. */
export interface RanksOfGang {
  /** Global, in any order. */
  readonly ranks: readonly number[];
  readonly worldSize: number;
}

/**
 * The files that these ranks answer for when a gang checks a checkpoint before it loads it: over all ranks of the gang each file exactly once,
 * so that a restart looks at no file twice however many pods it has. A file whose name tells a rank of this gang is that rank's; the others are
 * dealt out in turn.
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
