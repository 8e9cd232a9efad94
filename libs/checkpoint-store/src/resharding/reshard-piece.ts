/** Carries out a piece of a plan: reads each byte once, compares it with its checksum, and writes it once. */
import { crc32 } from 'node:zlib';
import {
  copyPart,
  describeCrcs,
  intersect,
  placeOfChunk,
  type PlannedObject,
  type PlannedPiece,
  type PlannedTensor,
  readCheckedItem,
  runIn,
  type SourcePlace,
  type StoredFile,
  torchSaveFrame,
  UnreadableSave,
  volumeOf,
  type BandPart,
  type Crc32,
  type TargetChunk,
} from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { runReading } from '../reading/run-reading.ts';
import { BandBuffers } from './band-buffers.ts';
import { combineCrc32 } from './combine-crc32.ts';
import { FileFeed } from './file-feed.ts';
import { type ChunkSource, type ReadPart, readBands, withOrder } from './read-ahead-bands.ts';

/** A save on its way from one store to another. */
export interface Resharding {
  readonly source: CheckpointStore;
  /** Files of the source. */
  readonly files: readonly StoredFile[];
  readonly target: CheckpointStore;
  /** Bytes that are read and written at a time. Memory is a small multiple of it. */
  readonly bandBytes: number;
  readonly signal?: AbortSignal;
  /** Receives bytes of elements that were read. */
  readonly onBytes?: (bytes: number) => void;
  /** Receives bytes that have no checksum in the source. */
  readonly onUnchecked?: (bytes: number) => void;
}

/** The source does not hold what was saved. Nothing of the piece is written. */
export class SourceDamaged extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceDamaged';
  }
}

/** Bands that are read before they are needed. */
const AHEAD = 2;
/** Parts of a file that wait to be written. */
const WAITING_PARTS = 2;
/** Tensors whose envelopes are read before they are needed. */
const ENVELOPES_AHEAD = 8;

/**
 * Writes the files of a piece. They appear only when all of them are whole and all source bytes matched their checksums.
 * @throws SourceDamaged or StoreError
 */
export async function reshardPiece(piece: PlannedPiece, work: Resharding): Promise<void> {
  const feeds = new Map([...piece.files.keys()].map((file) => [file, new FileFeed(WAITING_PARTS)]));
  const writing = [...feeds].map(async ([file, feed]) => {
    try {
      await work.target.write(file, feed.chunks);
    } catch (error) {
      feed.fail(error);
      throw error;
    }
  });
  // A write can fail while nothing waits for it; it is awaited below.
  for (const one of writing) one.catch(() => undefined);
  try {
    await fill(piece, feeds, work);
    for (const feed of feeds.values()) feed.end();
  } catch (error) {
    for (const feed of feeds.values()) feed.fail(error);
    await Promise.allSettled(writing);
    throw error;
  }
  await Promise.all(writing);
}

type Feeds = ReadonlyMap<string, FileFeed>;

async function fill(piece: PlannedPiece, feeds: Feeds, work: Resharding): Promise<void> {
  const buffers = new BandBuffers(work.bandBytes);
  for (const object of piece.objects) await copyObject(object, feeds, work);
  const envelopes = new Map<PlannedTensor, Promise<readonly SourcePlace[]>>();
  const placesOf = (tensor: PlannedTensor): Promise<readonly SourcePlace[]> => {
    const known = envelopes.get(tensor) ?? readPlaces(tensor, work);
    known.catch(() => undefined);
    envelopes.set(tensor, known);
    return known;
  };
  const { tensors } = piece;
  for (const [index, tensor] of tensors.entries()) {
    for (const next of tensors.slice(index, index + ENVELOPES_AHEAD)) void placesOf(next);
    await moveTensor(tensor, { places: await inOrder(tensor, await placesOf(tensor), work), feeds, work, buffers });
    envelopes.delete(tensor);
  }
}

async function copyObject({ object, file }: PlannedObject, feeds: Feeds, work: Resharding): Promise<void> {
  const { key, item } = object;
  if (item === undefined) throw new SourceDamaged(`The save does not say where object ${key} is.`);
  const reading = runReading(work.source, work.files, readCheckedItem({ key, item }, crc32));
  const bytes = await withItem(`Object ${key} in ${item.file}`, reading);
  work.onBytes?.(bytes.length);
  await feedOf(feeds, file).push(bytes);
}

async function readPlaces(tensor: PlannedTensor, { source, files }: Resharding): Promise<readonly SourcePlace[]> {
  const places: SourcePlace[] = [];
  for (const chunk of tensor.sources) {
    const reading = runReading(source, files, placeOfChunk(tensor, chunk));
    places.push(await withItem(`Tensor ${tensor.key} in ${chunk.item?.file ?? 'no file'}`, reading));
  }
  return places;
}

/** Readers of items say what is wrong with one, and not which one it is. */
async function withItem<Found>(item: string, reading: Promise<Found>): Promise<Found> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof UnreadableSave)) throw error;
    throw new SourceDamaged(`${item} ${error.message}. Nothing of it was written: use another save.`, { cause: error });
  }
}

/** All chunks of a tensor that are in another order than row by row are in memory at the same time. */
const MAX_TURNED_BYTES = 256 << 20;

/** Puts chunks in order whose elements are stored in another one. */
async function inOrder(
  tensor: PlannedTensor,
  places: readonly SourcePlace[],
  { source }: Resharding,
): Promise<readonly ChunkSource[]> {
  const sizes = tensor.sources.map((chunk) => chunk.sizes);
  const turned = places.reduce(
    (sum, { stride }, index) => (stride === undefined ? sum : sum + volumeOf(sizes[index] ?? []) * tensor.itemBytes),
    0,
  );
  if (turned > MAX_TURNED_BYTES)
    throw new SourceDamaged(
      `Tensor ${tensor.key} has ${String(turned)} bytes in another order than row by row; at most ${String(MAX_TURNED_BYTES)} are put in order here. Save it again with contiguous tensors.`,
    );
  const ready: ChunkSource[] = [];
  for (const [index, place] of places.entries()) {
    const check = (bytes: Uint8Array): void => compare(tensor, place, crc32(bytes));
    ready.push(await withOrder(place, { ...tensor, sizes: sizes[index] ?? [] }, { store: source, check }));
  }
  return ready;
}

interface Move {
  readonly places: readonly ChunkSource[];
  readonly feeds: Feeds;
  readonly work: Resharding;
  readonly buffers: BandBuffers;
}

async function moveTensor(tensor: PlannedTensor, { places, feeds, work, buffers }: Move): Promise<void> {
  // Bytes that nothing vouched for get no checksum: it would vouch for them from now on.
  const checksum = places.every((place) => place.crc32 !== undefined) ? crc32 : WITHOUT_CRC;
  const writers = tensor.targets.map(
    (target) => new ChunkWriter(target, { ...tensor, checksum }, feedOf(feeds, target.file)),
  );
  const read = new Array<number>(tensor.sources.length).fill(0);
  const source = { store: work.source, places, bandBytes: work.bandBytes, ahead: AHEAD, buffers };
  for await (const { band, parts, buffer } of readBands(tensor, source)) {
    work.signal?.throwIfAborted();
    const runs = band.writes.map((write) => runOf(write, parts, tensor.itemBytes));
    const sums = sumsOfRuns(runs, parts);
    for (const part of parts) {
      read[part.chunk] =
        sums === undefined ? crc32(part.bytes, read[part.chunk]) : combined(read[part.chunk] ?? 0, sums);
      if (part.isLast) compare(tensor, places[part.chunk], read[part.chunk] ?? 0);
      work.onBytes?.(part.bytes.length);
      if (places[part.chunk]?.crc32 === undefined) work.onUnchecked?.(part.bytes.length);
    }
    const gathered = await buffers.take(band.writes.reduce((sum, { length }) => sum + length, 0));
    for (const [index, write] of band.writes.entries()) {
      const run = runs[index];
      const bytes = run ?? gather(write, parts, { itemBytes: tensor.itemBytes, bytes: gathered.carve(write.length) });
      const onWritten = (run === undefined ? gathered : buffer).retain().release;
      await writers[write.chunk]?.add({ bytes, crc: run && sums?.get(run), onWritten });
    }
    gathered.release();
    buffer.release();
  }
  for (const writer of writers) await writer.end();
}

function compare({ key }: PlannedTensor, place: ChunkSource | undefined, found: number): void {
  if (place?.crc32 === undefined || place.isChecked === true || place.crc32 === found) return;
  throw new SourceDamaged(
    `Tensor ${key} in ${place.file} has other bytes than were saved (${describeCrcs(found, place.crc32)}). Nothing of it was written: use another save.`,
  );
}

/** The bytes of a part of a target chunk, if they follow each other in the source. */
function runOf(write: BandPart, parts: readonly ReadPart[], itemBytes: number): Uint8Array | undefined {
  for (const from of parts) {
    const shared = intersect(from, write.box);
    if (shared === undefined || volumeOf(shared.sizes) * itemBytes !== write.length) continue;
    const run = runIn(from, shared);
    return run === undefined ? undefined : from.bytes.subarray(run * itemBytes, run * itemBytes + write.length);
  }
  return undefined;
}

/** The CRC-32 of each run, in their order, if they are all of one part: then no byte is looked at twice. */
function sumsOfRuns(
  runs: readonly (Uint8Array | undefined)[],
  parts: readonly ReadPart[],
): ReadonlyMap<Uint8Array, number> | undefined {
  const [part, ...others] = parts;
  const known = runs.filter((run) => run !== undefined);
  if (part === undefined || others.length > 0 || known.length < runs.length) return undefined;
  const inOrder = known.toSorted((one, other) => one.byteOffset - other.byteOffset);
  return new Map(inOrder.map((run) => [run, crc32(run)]));
}

/** The CRC-32 of bytes that have `before`, and of those that follow. */
function combined(before: number, sums: ReadonlyMap<Uint8Array, number>): number {
  return [...sums].reduce((crc, [{ length }, sum]) => combineCrc32(crc, sum, length), before);
}

/** A copy of the bytes of a part of a target chunk. */
function gather(
  write: BandPart,
  parts: readonly ReadPart[],
  { itemBytes, bytes }: { readonly itemBytes: number; readonly bytes: Uint8Array },
): Uint8Array {
  for (const from of parts) {
    const shared = intersect(from, write.box);
    if (shared !== undefined) copyPart(from, { ...write.box, bytes }, shared, itemBytes);
  }
  return bytes;
}

/** As PyTorch writes CRCs where it is not to compute them. */
const WITHOUT_CRC = (): number => 0;

/** Bytes that come next in a chunk. */
interface Addition {
  readonly bytes: Uint8Array;
  readonly crc: number | undefined;
  readonly onWritten: () => void;
}

/** Writes one chunk of the new save as `torch.save` does. */
class ChunkWriter {
  readonly #frame: ReturnType<typeof torchSaveFrame>;
  readonly #feed: FileFeed;
  readonly #checksum: Crc32;
  #crc = 0;
  #isBegun = false;

  constructor(
    { sizes }: TargetChunk,
    { dtype, checksum }: { readonly dtype: string; readonly checksum: Crc32 },
    feed: FileFeed,
  ) {
    this.#frame = torchSaveFrame(dtype, sizes, checksum);
    this.#checksum = checksum;
    this.#feed = feed;
  }

  /** `crc` is that of the bytes; undefined: it is not known yet. */
  async add({ bytes, crc, onWritten }: Addition): Promise<void> {
    await this.#begin();
    if (crc === undefined || this.#checksum !== crc32) this.#crc = this.#checksum(bytes, this.#crc);
    else this.#crc = combineCrc32(this.#crc, crc, bytes.length);
    await this.#feed.push(bytes, onWritten);
  }

  async end(): Promise<void> {
    await this.#begin();
    await this.#feed.push(this.#frame.tail(this.#crc));
  }

  async #begin(): Promise<void> {
    if (this.#isBegun) return;
    this.#isBegun = true;
    await this.#feed.push(this.#frame.head);
  }
}

function feedOf(feeds: Feeds, file: string): FileFeed {
  const feed = feeds.get(file);
  if (feed === undefined) throw new RangeError(`no piece writes ${file}`);
  return feed;
}
