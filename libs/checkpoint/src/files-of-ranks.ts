import type { CheckpointManifest } from './manifest.ts';

type ManifestFile = CheckpointManifest['files'][number];

/** Ranks of a gang that look at a checkpoint together, as those of one pod do. */
export interface RanksOfGang {
  /** Global, in any order. */
  readonly ranks: readonly number[];
  readonly worldSize: number;
}

/**
 * Names that tell the rank that wrote the file, which on the same layout is the rank that reads it:
 * PyTorch DCP `__<rank>_<n>.distcp` (Megatron may put a hint before it), its rank-local `__<rank>.metadata`, the local checkpoints of
 * nvidia-resiliency-ext `iter_<iteration>_<rank>_local.pt`, and the stand-in engine's `rank-<rank>.bin`. Names of DeepSpeed and of Megatron's
 * legacy format tell positions in a grid, not ranks.
 */
const WRITTEN_BY =
  /(?:^|\/)(?:[^/]*__(\d{1,6})_\d+\.distcp|__(\d{1,6})\.metadata|iter_\d+_(\d{1,6})_local\.pt|rank-(\d{1,6})\.bin)$/;

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
    const writer = writerOf(path);
    return own.has(writer === undefined || writer >= worldSize ? index % worldSize : writer);
  });
}

function writerOf(path: string): number | undefined {
  const digits = WRITTEN_BY.exec(path)
    ?.slice(1)
    .find((group) => group !== undefined);
  return digits === undefined ? undefined : Number(digits);
}
