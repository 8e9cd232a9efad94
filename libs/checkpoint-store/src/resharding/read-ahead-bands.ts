/** Reads the bands of a tensor, some of them before they are needed. */
import { type Band, type FilledBox, type PlannedTensor, bandsOf, type SourcePlace } from '@coxswain/checkpoint';
import { StoreError } from '../store-error.ts';
import type { CheckpointStore } from '../checkpoint-store.ts';

/** A part of a source chunk with its bytes. */
export interface ReadPart extends FilledBox {
  readonly chunk: number;
  /** No byte of the chunk follows. */
  readonly isLast: boolean;
}

/** A band whose source bytes are here. */
export interface ReadBand {
  readonly band: Band;
  readonly parts: readonly ReadPart[];
}

/** Where to read, and how much at a time. */
export interface BandSource {
  readonly store: Pick<CheckpointStore, 'read' | 'location'>;
  /** Of each source chunk of the tensor. */
  readonly places: readonly SourcePlace[];
  /** Bytes of a band. */
  readonly bandBytes: number;
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

async function readBand(tensor: PlannedTensor, band: Band, { store, places }: BandSource): Promise<ReadBand> {
  const parts = await Promise.all(
    band.reads.map(async ({ chunk, box, offset, length }) => {
      const place = places[chunk];
      if (place === undefined) throw new RangeError(`chunk ${String(chunk)} of ${tensor.key} has no place`);
      const bytes = await store.read(place.file, place.at + offset, length);
      if (bytes.length !== length)
        throw new StoreError(
          'Changed',
          `${place.file} in ${store.location} ends before it should: ${tensor.key} is cut.`,
        );
      const whole = tensor.sources[chunk]?.sizes.reduce((product, size) => product * size, tensor.itemBytes) ?? 0;
      return { ...box, chunk, bytes, isLast: offset + length === whole };
    }),
  );
  return { band, parts };
}
