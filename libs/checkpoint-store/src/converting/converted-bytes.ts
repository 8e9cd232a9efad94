/** The bytes of a file of a converted save, made while they are written. */
import {
  bytesOfDtype,
  castElements,
  type ConvertedFile,
  type ConvertedTensor,
  type SourcePiece,
  torchSaveFrame,
  type WrittenRange,
} from '@coxswain/checkpoint';
import { checksumFor, type SourceElements } from './source-elements.ts';

/** Bands that are read before they are needed. */
const AHEAD = 2;

/** All bytes of the file. */
export async function* contentOf(
  { head, ranges }: ConvertedFile,
  source: SourceElements,
  bandBytes: number,
): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  for (const range of ranges) yield* contentOfRange(range, source, bandBytes);
}

async function* contentOfRange(
  { tensor, from, to, archive }: WrittenRange,
  source: SourceElements,
  bandBytes: number,
): AsyncGenerator<Uint8Array> {
  if (archive === undefined) {
    yield* elementsOf(tensor, { from, to }, { source, bandBytes });
    return;
  }
  const checksum = checksumFor(await isVouchedFor(tensor, { from, to }, source));
  const frame = torchSaveFrame(tensor.dtype, archive.sizes, checksum);
  yield frame.head;
  let crc = 0;
  for await (const bytes of elementsOf(tensor, { from, to }, { source, bandBytes })) {
    crc = checksum(bytes, crc);
    yield bytes;
  }
  yield frame.tail(crc);
}

async function isVouchedFor(tensor: ConvertedTensor, { from, to }: Range, source: SourceElements): Promise<boolean> {
  const sources = new Set<SourcePiece['source']>(tensor.sources);
  if (tensor.sources === undefined) for (const piece of tensor.pieces(from, to)) sources.add(piece.source);
  for (const each of sources) if (!(await source.hasChecksums(each))) return false;
  return true;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** How elements are read. */
interface Banding {
  readonly source: SourceElements;
  readonly bandBytes: number;
  /** Bytes that an element counts in a band. Absent: its own. */
  readonly itemBytes?: number;
}

/** Bytes of an element, before or after it is cast. */
export function widthOf({ dtype, sourceDtype }: ConvertedTensor): number {
  return Math.max(bytesOfDtype(dtype) ?? 1, bytesOfDtype(sourceDtype) ?? 1);
}

/** The elements of a range in bands, each read before it is needed. */
export async function* elementsOf(
  tensor: ConvertedTensor,
  { from, to }: Range,
  { source, bandBytes, itemBytes = widthOf(tensor) }: Banding,
): AsyncGenerator<Uint8Array> {
  const elements = Math.max(1, Math.floor(bandBytes / itemBytes));
  const reading: Promise<Uint8Array>[] = [];
  let next = from;
  const begin = (): void => {
    if (next >= to) return;
    const band = { from: next, to: Math.min(to, next + elements) };
    next = band.to;
    const read = readBand(tensor, band, source);
    // It is awaited later; a failure meanwhile is not unhandled.
    read.catch(() => undefined);
    reading.push(read);
  };
  for (let begun = 0; begun <= AHEAD; begun++) begin();
  for (let read = reading.shift(); read !== undefined; read = reading.shift()) {
    yield await read;
    begin();
  }
}

/** Elements of one source tensor that follow each other, and which pieces are made of them. */
interface Interval {
  readonly source: SourcePiece['source'];
  readonly from: number;
  to: number;
  readonly pieces: SourcePiece[];
}

async function readBand(tensor: ConvertedTensor, { from, to }: Range, source: SourceElements): Promise<Uint8Array> {
  const itemBytes = bytesOfDtype(tensor.sourceDtype) ?? 0;
  const band = new Uint8Array((to - from) * itemBytes);
  for (const interval of intervalsOf(tensor.pieces(from, to))) {
    const [piece] = interval.pieces;
    if (piece !== undefined && interval.pieces.length === 1) {
      const at = (piece.to - from) * itemBytes;
      await source.read(piece.source, piece.from, piece.length, band.subarray(at, at + piece.length * itemBytes));
      continue;
    }
    const bytes = new Uint8Array((interval.to - interval.from) * itemBytes);
    await source.read(interval.source, interval.from, interval.to - interval.from, bytes);
    for (const each of interval.pieces) {
      const start = (each.from - interval.from) * itemBytes;
      band.set(bytes.subarray(start, start + each.length * itemBytes), (each.to - from) * itemBytes);
    }
  }
  return castElements(band, tensor.sourceDtype, tensor.dtype);
}

/** Rows that change places within a head are read at once. */
function intervalsOf(pieces: Iterable<SourcePiece>): readonly Interval[] {
  const intervals: Interval[] = [];
  for (const [source, each] of Map.groupBy(pieces, (piece) => piece.source)) {
    let open: Interval | undefined;
    for (const piece of each.toSorted((one, other) => one.from - other.from)) {
      if (open?.to !== piece.from) {
        open = { source, from: piece.from, to: piece.from, pieces: [] };
        intervals.push(open);
      }
      open.to += piece.length;
      open.pieces.push(piece);
    }
  }
  return intervals;
}
