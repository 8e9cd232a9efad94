/** Reads the bands of a tensor, some of them before they are needed. */
import {
  type Band,
  type FilledBox,
  type PlannedTensor,
  bandsOf,
  inRowOrder,
  type SourcePlace,
  volumeOf,
} from '@coxswain/checkpoint';
import type { BandBuffer, BandBuffers } from './band-buffers.ts';
import { StoreError } from '../store-error.ts';
import type { CheckpointStore } from '../checkpoint-store.ts';

/** A part of a source chunk with its bytes. */
export interface ReadPart extends FilledBox {
  readonly chunk: number;
  /** No byte of the chunk follows. */
  readonly isLast: boolean;
}

/** Where a chunk is read: in its file, or in memory where it was put in order. */
export interface ChunkSource extends SourcePlace {
  readonly inOrder?: Uint8Array;
  /** Its bytes were compared with their checksum before they were put in order. */
  readonly isChecked?: boolean;
}

/** A band whose source bytes are here. */
export interface ReadBand {
  readonly band: Band;
  readonly parts: readonly ReadPart[];
  /** Holds the bytes of the parts. The consumer releases it. */
  readonly buffer: BandBuffer;
}

/** Where to read, and how much at a time. */
export interface BandSource {
  readonly store: Pick<CheckpointStore, 'read' | 'location'>;
  /** Of each source chunk of the tensor. */
  readonly places: readonly ChunkSource[];
  /** Bytes of a band. */
  readonly bandBytes: number;
  readonly buffers: BandBuffers;
  /** Bands that are read before they are needed. */
  readonly ahead: number;
}

/** The bands of a tensor in their order. */
export async function* readBands(tensor: PlannedTensor, source: BandSource): AsyncGenerator<ReadBand> {
  const bands = bandsOf(tensor, source.bandBytes);
  const reading: Promise<ReadBand>[] = [];
  const begin = (): void => {
    const next = bands.next();
    if (next.done === true) return;
    const read = readBand(tensor, next.value, source);
    // It is awaited later; a failure meanwhile is not unhandled.
    read.catch(() => undefined);
    reading.push(read);
  };
  for (let begun = 0; begun <= source.ahead; begun++) begin();
  for (let read = reading.shift(); read !== undefined; read = reading.shift()) {
    yield await read;
    begin();
  }
}

async function readBand(tensor: PlannedTensor, band: Band, { store, places, buffers }: BandSource): Promise<ReadBand> {
  const buffer = await buffers.take(band.reads.reduce((sum, { length }) => sum + length, 0));
  const parts = await Promise.all(
    band.reads.map(async ({ chunk, box, offset, length }) => {
      const place = places[chunk];
      const sizes = tensor.sources[chunk]?.sizes;
      if (place === undefined || sizes === undefined)
        throw new RangeError(`chunk ${String(chunk)} of ${tensor.key} has no place`);
      const bytes =
        place.inOrder?.subarray(offset, offset + length) ??
        (await readExactly(
          store,
          { file: place.file, at: place.at + offset, length, key: tensor.key },
          buffer.carve(length),
        ));
      return { ...box, chunk, bytes, isLast: offset + length === volumeOf(sizes) * tensor.itemBytes };
    }),
  );
  return { band, parts, buffer };
}

/** A chunk whose elements are stored in another order, read whole and put in order; another chunk as it is. */
export async function withOrder(
  place: SourcePlace,
  { key, itemBytes, sizes }: { readonly key: string; readonly itemBytes: number; readonly sizes: readonly number[] },
  source: { readonly store: BandSource['store']; readonly check: (bytes: Uint8Array) => void },
): Promise<ChunkSource> {
  const { file, at, stride } = place;
  if (stride === undefined) return place;
  const bytes = await readExactly(source.store, { file, at, length: volumeOf(sizes) * itemBytes, key });
  source.check(bytes);
  return { file, at, crc32: place.crc32, isChecked: true, inOrder: inRowOrder(bytes, { sizes, stride, itemBytes }) };
}

async function readExactly(
  store: BandSource['store'],
  {
    file,
    at,
    length,
    key,
  }: { readonly file: string; readonly at: number; readonly length: number; readonly key: string },
  into?: Uint8Array,
): Promise<Uint8Array> {
  const bytes = await store.read(file, at, length, into);
  if (bytes.length === length) return bytes;
  throw new StoreError('Changed', `${file} in ${store.location} ends before it should: ${key} is cut.`);
}
