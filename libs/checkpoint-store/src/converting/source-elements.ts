/** Reads elements of tensors of a save, wherever its chunks are. */
import { crc32 } from 'node:zlib';
import {
  bytesOfDtype,
  copyPart,
  flatBoxes,
  inRowOrder,
  intersect,
  offsetIn,
  placeOfChunk,
  type SavedTensor,
  type SourcePlace,
  type StoredFile,
  volumeOf,
} from '@coxswain/checkpoint';
import type { CheckpointStore } from '../checkpoint-store.ts';
import { runReading } from '../reading/run-reading.ts';
import { SourceDamaged } from '../resharding/reshard-piece.ts';
import { StoreError } from '../store-error.ts';
import { type CheckedChunk, ChunkChecksums } from './chunk-checksums.ts';

/** A save to read from. */
export interface ElementSource {
  readonly store: CheckpointStore;
  readonly files: readonly StoredFile[];
  /** Chunks are archives of `torch.save`. Otherwise elements stand alone, and nothing has a checksum. */
  readonly isArchived: boolean;
  readonly onBytes?: (bytes: number) => void;
  readonly onUnchecked?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

interface OpenChunk {
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
  readonly place: SourcePlace;
  readonly checked: CheckedChunk | undefined;
  /** All its bytes, put in order: they are stored in another one. */
  readonly inOrder?: Uint8Array;
}

/** Tensors that stay open: those of a layer with a few experts. */
const MOST_OPEN = 32;
/** Chunks of one tensor that are put in order are in memory at the same time. */
const MAX_TURNED_BYTES = 256 << 20;

/** Reads ranges of elements. In the end it compares every chunk from which it read with the checksum of the chunk. */
export class SourceElements {
  readonly #source: ElementSource;
  readonly #checksums = new ChunkChecksums();
  readonly #open = new Map<SavedTensor, Promise<readonly OpenChunk[]>>();
  #turned: SavedTensor | undefined;

  constructor(source: ElementSource) {
    this.#source = source;
  }

  /** Reads `length` elements of a tensor from `from` on into `into`. */
  async read(tensor: SavedTensor, from: number, length: number, into: Uint8Array): Promise<void> {
    const itemBytes = bytesOfDtype(tensor.dtype) ?? 0;
    const chunks = await this.#chunksOf(tensor);
    let at = 0;
    for (const box of flatBoxes(tensor.shape, from, from + length)) {
      const part = into.subarray(at, at + volumeOf(box.sizes) * itemBytes);
      at += part.length;
      for (const chunk of chunks) {
        const shared = intersect(chunk, box);
        if (shared === undefined) continue;
        const offset = offsetIn(chunk, shared.offsets) * itemBytes;
        const bytes = volumeOf(shared.sizes) * itemBytes;
        if (bytes === part.length) await this.#readChunk(tensor, chunk, offset, part);
        else {
          const read = new Uint8Array(bytes);
          await this.#readChunk(tensor, chunk, offset, read);
          copyPart({ ...shared, bytes: read }, { ...box, bytes: part }, shared, itemBytes);
        }
      }
    }
  }

  /** Whether all chunks of a tensor have checksums. */
  async hasChecksums(tensor: SavedTensor): Promise<boolean> {
    return (await this.#chunksOf(tensor)).every(({ place }) => place.crc32 !== undefined);
  }

  /** Makes sure that all chunks of a tensor are compared in the end, also those that were read by a run before this one. */
  async expect(tensor: SavedTensor): Promise<void> {
    for (const { checked } of await this.#chunksOf(tensor)) if (checked !== undefined) this.#checksums.expect(checked);
  }

  /**
   * Compares all chunks with their checksums.
   * @throws SourceDamaged
   */
  async compare(readBytes: number): Promise<void> {
    const damaged = await this.#checksums.compare(async ({ file, at, key }, from, length) => {
      const bytes = new Uint8Array(length);
      await this.#readFile({ key, file, at: at + from }, bytes);
      return bytes;
    }, readBytes);
    if (damaged !== undefined)
      throw new SourceDamaged(
        `Tensor ${damaged.key} in ${damaged.file} has other bytes than were saved (CRC-32 ${hex(damaged.found)}, saved ${hex(damaged.crc32)}). The new save was removed: use another source.`,
      );
  }

  async #readChunk(
    { key }: SavedTensor,
    { place, checked, inOrder }: OpenChunk,
    offset: number,
    into: Uint8Array,
  ): Promise<void> {
    if (inOrder !== undefined) {
      into.set(inOrder.subarray(offset, offset + into.length));
      return;
    }
    await this.#readFile({ key, file: place.file, at: place.at + offset }, into);
    if (checked === undefined) this.#source.onUnchecked?.(into.length);
    else this.#checksums.add(checked, offset, into);
  }

  async #readFile(
    { key, file, at }: { readonly key: string; readonly file: string; readonly at: number },
    into: Uint8Array,
  ): Promise<void> {
    const { store, onBytes, signal } = this.#source;
    signal?.throwIfAborted();
    const bytes = await store.read(file, at, into.length, into);
    if (bytes.length !== into.length)
      throw new StoreError('Changed', `${file} in ${store.location} ends before it should: ${key} is cut.`);
    if (bytes.buffer !== into.buffer || bytes.byteOffset !== into.byteOffset) into.set(bytes);
    onBytes?.(bytes.length);
  }

  async #chunksOf(tensor: SavedTensor): Promise<readonly OpenChunk[]> {
    const known = this.#open.get(tensor);
    if (known !== undefined) return await known;
    for (const oldest of this.#open.keys()) {
      if (this.#open.size < MOST_OPEN) break;
      this.#open.delete(oldest);
    }
    const opened = this.#openTensor(tensor);
    // It is awaited below; a second reader may wait for it later.
    opened.catch(() => undefined);
    this.#open.set(tensor, opened);
    const chunks = await opened;
    if (chunks.some(({ inOrder }) => inOrder !== undefined)) {
      // One such tensor is in memory at a time.
      if (this.#turned !== undefined && this.#turned !== tensor) this.#open.delete(this.#turned);
      this.#turned = tensor;
    }
    return chunks;
  }

  async #openTensor(tensor: SavedTensor): Promise<readonly OpenChunk[]> {
    const { key, dtype } = tensor;
    const itemBytes = bytesOfDtype(dtype) ?? 0;
    const opened: OpenChunk[] = [];
    let turnedBytes = 0;
    for (const chunk of tensor.chunks) {
      const { offsets, sizes, item } = chunk;
      if (item === undefined) throw new SourceDamaged(`The save does not say where a chunk of tensor ${key} is.`);
      const place = this.#source.isArchived
        ? await runReading(this.#source.store, this.#source.files, placeOfChunk({ key, dtype, itemBytes }, chunk))
        : { file: item.file, at: item.offset, crc32: undefined };
      const bytes = volumeOf(sizes) * itemBytes;
      const checked =
        place.crc32 === undefined ? undefined : { key, file: place.file, at: place.at, bytes, crc32: place.crc32 };
      if (place.stride === undefined) {
        opened.push({ offsets, sizes, place, checked });
        continue;
      }
      turnedBytes += bytes;
      if (turnedBytes > MAX_TURNED_BYTES)
        throw new SourceDamaged(
          `Tensor ${key} has more than ${String(MAX_TURNED_BYTES)} bytes in another order than row by row. Save it again with contiguous tensors.`,
        );
      const stored = new Uint8Array(bytes);
      await this.#readFile({ key, file: place.file, at: place.at }, stored);
      if (checked === undefined) this.#source.onUnchecked?.(bytes);
      else this.#checksums.add(checked, 0, stored);
      opened.push({
        offsets,
        sizes,
        place,
        checked,
        inOrder: inRowOrder(stored, { sizes, stride: place.stride, itemBytes }),
      });
    }
    return opened;
  }
}

/** CRC-32 of a whole of bytes, where everything that it is made of has one; 0 as PyTorch writes it otherwise. */
export function checksumFor(hasChecksums: boolean): (bytes: Uint8Array, before?: number) => number {
  // A checksum that is computed now would vouch for bytes that nothing vouched for.
  return hasChecksums ? crc32 : () => 0;
}

function hex(crc: number): string {
  return (crc >>> 0).toString(16).padStart(8, '0');
}
