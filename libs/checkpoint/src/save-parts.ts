/** A gang on several nodes without a shared disk: each pod uploads the files of its own ranks, and rank 0's pod publishes the save. */
import { formatRanks, MAX_RANKS_PER_POD, parseRanks } from '@coxswain/api-types';
import { z } from 'zod';
import { CheckpointManifest } from './manifest.ts';

/** What one pod uploaded of a save. It writes this list after its last file. */
export const SavePart = z.strictObject({
  version: z.literal(1),
  /** Such as `8-15`. */
  ranks: z.string().max(1024),
  files: z.array(CheckpointManifest.shape.files.element).max(100_000),
});
export type SavePart = z.infer<typeof SavePart>;

const PART_FILE = /^\.coxswain-part-\d{1,6}\.json$/;

/** The parts of a save, put together. */
export type MergedParts =
  | { readonly kind: 'whole'; readonly files: SavePart['files'] }
  /** `ranks`: those of pods that have not uploaded their part. */
  | { readonly kind: 'waiting'; readonly ranks: string }
  /** Two pods uploaded other bytes under one path. */
  | { readonly kind: 'differs'; readonly path: string; readonly pods: readonly [string, string] };

/** Name of the list of a pod whose first rank is this one, in the folder of the save. */
export function partFile(firstRank: number): string {
  return `.coxswain-part-${firstRank}.json`;
}

/** Whether a file in the folder of a save is the list of a pod. */
export function isPartFile(path: string): boolean {
  return PART_FILE.test(path);
}

/** Merges the parts of a save of `worldSize` ranks. Each file is listed once, in the order of paths. */
export function mergeParts(parts: readonly SavePart[], worldSize: number): MergedParts {
  const files = new Map<string, SavePart['files'][number] & { readonly ranks: string }>();
  const uploaded = new Set<number>();
  for (const part of parts) {
    for (const rank of parseRanks(part.ranks, MAX_RANKS_PER_POD)) uploaded.add(rank);
    for (const file of part.files) {
      const other = files.get(file.path);
      if (other !== undefined && (other.bytes !== file.bytes || other.sha256 !== file.sha256))
        return { kind: 'differs', path: file.path, pods: [other.ranks, part.ranks] };
      files.set(file.path, { ...file, ranks: part.ranks });
    }
  }
  const missing = Array.from({ length: worldSize }, (_, rank) => rank).filter((rank) => !uploaded.has(rank));
  if (missing.length > 0) return { kind: 'waiting', ranks: formatRanks(missing) };
  const sorted = [...files.values()].toSorted((one, other) => (one.path < other.path ? -1 : 1));
  return { kind: 'whole', files: sorted.map(({ ranks: _, ...file }) => file) };
}
