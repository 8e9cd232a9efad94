import { bytesOfDtype } from '../../read/dtypes.ts';
import { readBytes, type Reading } from '../../read/save-files.ts';
import { type StoredItem, volumeOf } from '../../read/saved-state.ts';
import { UnreadableSave } from '../../read/unreadable-save.ts';
import { type ArchivedTensor, isRowMajor } from '../torch-save-tensor.ts';
import type { ArchiveRecord } from '../zip/archive.ts';
import { placeOfPayload } from '../zip/read-archive.ts';
import type { TorchSave } from './read-torch-save.ts';

/** Finds the bytes of tensors in one file of `torch.save`. Tensors can share a storage. */
export class TensorPlaces {
  /** Not what the file holds: a look keeps this for each rank. */
  readonly #archive: StoredItem;
  readonly #records: ReadonlyMap<string, ArchiveRecord>;
  readonly #places = new Map<string, number>();

  constructor(save: TorchSave) {
    this.#archive = { file: save.path, offset: 0, length: save.bytes };
    this.#records = new Map(save.records.map((record) => [record.name, record]));
  }

  /**
   * The bytes of `count` elements from element `from` of a tensor on. Of a tensor whose elements do not follow each other, it is
   * the whole storage. undefined: the tensor is empty.
   * @throws UnreadableSave if the file does not hold them; the message continues a sentence that starts with the file.
   */
  *itemOf(
    tensor: ArchivedTensor,
    key: string,
    range?: { readonly from: number; readonly count: number },
  ): Reading<StoredItem | undefined> {
    const elements = volumeOf(tensor.shape);
    const elementBytes = bytesOfDtype(tensor.dtype);
    if (elements === 0) return undefined;
    const record = this.#records.get(`data/${tensor.storage}`);
    if (record === undefined) throw new UnreadableSave(`has no record data/${tensor.storage} for ${key}`);
    if (elementBytes === undefined)
      throw new UnreadableSave(`holds ${key} as ${tensor.dtype}, which is no known dtype`);
    const last = tensor.shape.reduce(
      (at, size, dim) => at + (size - 1) * (tensor.stride[dim] ?? 0),
      tensor.storageOffset,
    );
    if ((last + 1) * elementBytes > record.bytes)
      throw new UnreadableSave(
        `holds ${String(record.bytes)} bytes for ${key}, whose elements of ${tensor.dtype} end at byte ${String((last + 1) * elementBytes)}`,
      );
    const start = yield* this.#placeOf(record);
    if (!isRowMajor(tensor.shape, tensor.stride))
      return { file: this.#archive.file, offset: start, length: record.bytes };
    const { from, count } = range ?? { from: 0, count: elements };
    if (from + count > elements)
      throw new UnreadableSave(`says that ${key} ends at element ${String(from + count)} of ${String(elements)}`);
    const offset = start + (tensor.storageOffset + from) * elementBytes;
    return { file: this.#archive.file, offset, length: count * elementBytes };
  }

  /** The number in a tensor of one float32 or int64; undefined if it is something else. */
  *scalarOf(tensor: ArchivedTensor, key: string): Reading<number | undefined> {
    if (volumeOf(tensor.shape) !== 1) return undefined;
    const item = yield* this.itemOf(tensor, key);
    if (item === undefined) return undefined;
    const bytes = yield* readBytes(item.file, item.offset, item.length);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (tensor.dtype === 'float32' && bytes.length === 4) return view.getFloat32(0, true);
    return tensor.dtype === 'int64' && bytes.length === 8 ? Number(view.getBigInt64(0, true)) : undefined;
  }

  *#placeOf(record: ArchiveRecord): Reading<number> {
    const known = this.#places.get(record.name);
    if (known !== undefined) return known;
    const place = yield* placeOfPayload(this.#archive, record);
    this.#places.set(record.name, place);
    return place;
  }
}
