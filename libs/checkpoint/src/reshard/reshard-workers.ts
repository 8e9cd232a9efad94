/** How many workers reshard a save together, and how much memory does each of them need? */

/** Plans cut saves of this size into multiples of 12 or 48 pieces, so these numbers of workers get equal shares. */
const COUNTS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 48] as const;
/** 4.3 GB in 11.4 s on two busy cores (`npm run reshard:bench`). */
const WORKER_BYTES_PER_SECOND = 350 * 2 ** 20;
/** A pod takes a minute or two to start. A share of this length makes that small, and a worker that is lost costs less than one piece of it. */
const SHARE_SECONDS = 600;

/**
 * The smallest of those numbers whose shares take ten minutes or less, at most 48: more workers would take the storage from jobs that save to it (48 of them read
 * and write 16 GiB/s each way).
 */
export function reshardWorkers(bytes: number): number {
  const wanted = bytes / (WORKER_BYTES_PER_SECOND * SHARE_SECONDS);
  return COUNTS.find((count) => count >= wanted) ?? COUNTS[COUNTS.length - 1] ?? 1;
}

const MIB = 2 ** 20;
/** Node.js, data on its way, and tensors that are put in order. */
const BASE_BYTES = 512 * MIB;
/** Of the old save, whose `.metadata` is in memory while it is read. Measured: a plan from 3.7 million chunks (665 MB) takes 3.8 GB. */
const BYTES_PER_CHUNK_READ = 1000;
/** Measured: the plan of 5.9 million chunks takes 0.26 GB. */
const BYTES_PER_CHUNK_WRITTEN = 48;
/** A part of an upload. Each rank has a file of the piece that is being written. */
const UPLOAD_PART_BYTES = 16 * MIB;

/** Memory of a worker. */
export function reshardMemoryBytes({
  ranks,
  chunks,
  isBucket,
}: {
  readonly ranks: number;
  /** Of the old and of the new save. */
  readonly chunks: { readonly read: number; readonly written: number };
  /** Whether the new save is written to a bucket. */
  readonly isBucket: boolean;
}): number {
  const uploads = isBucket ? ranks * UPLOAD_PART_BYTES : 0;
  const planned = chunks.read * BYTES_PER_CHUNK_READ + chunks.written * BYTES_PER_CHUNK_WRITTEN;
  return Math.ceil((BASE_BYTES + planned + uploads) / MIB) * MIB;
}
