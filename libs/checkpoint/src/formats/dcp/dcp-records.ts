/**
 * Chunks, indexes and places of items as rows of numbers. Metadata has a million of each: as objects they take 1 GB, as numbers 110 MB.
 * A row is named by where it starts.
 */
import type { Box, StoredItem } from '../../read/saved-state.ts';
import { UnreadableSave } from '../../read/unreadable-save.ts';
import type { PickleValue } from '../pickle/pickle-value.ts';
import { type PickleForms, SIZES_AS_ARRAYS } from '../pickle/pickle-forms.ts';

export const METADATA = 'torch.distributed.checkpoint.metadata';
export const STORAGE_INFO = 'torch.distributed.checkpoint.filesystem._StorageInfo';

/** PyTorch makes tensors of at most 64 dims (c10/util/SmallVector, `at::kVmapMaxTensorDims`). */
const MAX_DIMS = 64;
/** DCP chains few of them. */
const MAX_TRANSFORMS = 16;
/** Characters of a name or path. */
const MAX_TEXT = 4096;

/** In place of a number of dims: the value is absent, or is no size. */
const ABSENT = -1;
const NO_SIZE = -2;

/** Bytes of metadata for each number that its rows are likely to need: 9 to 13. */
const BYTES_OF_NUMBER = 9;

/** The rows of one save. */
export class DcpRecords {
  #numbers: Float64Array;
  #length = 0;
  readonly #maxNumbers: number;
  readonly #texts: string[] = [];
  readonly #ordinals = new Map<string, number>();
  readonly #transforms: (readonly string[])[] = [];

  /** Rows of metadata of so many bytes. No class of metadata needs a number for each byte. */
  constructor(bytes: number) {
    this.#maxNumbers = bytes + 1024;
    this.#numbers = new Float64Array(Math.ceil(bytes / BYTES_OF_NUMBER) + 1024);
  }

  /** How the pickle's reader keeps values of DCP's classes: sizes as arrays, states as rows. */
  get forms(): PickleForms {
    return {
      calls: SIZES_AS_ARRAYS,
      states: {
        [`${METADATA}.ChunkStorageMetadata`]: {
          fields: ['offsets', 'sizes'],
          keep: ([offsets, sizes]) => this.#addChunk(offsets, sizes),
        },
        [`${METADATA}.MetadataIndex`]: {
          fields: ['fqn', 'offset', 'index'],
          keep: ([name, offset, hint]) => this.#addIndex(name, offset, hint),
        },
        [STORAGE_INFO]: {
          fields: ['relative_path', 'offset', 'length', 'transform_descriptors'],
          keep: (values) => this.#addItem(values),
        },
      },
    };
  }

  /** Whether the row of a chunk holds two sizes of so many dims; undefined: it holds something else than sizes. */
  hasDims(chunk: number, dims: number): boolean | undefined {
    const offsets = this.#at(chunk);
    if (offsets < 0) return undefined;
    const sizes = this.#at(chunk + 1 + offsets);
    return sizes < 0 ? undefined : offsets === dims && sizes === dims;
  }

  /** The box of a chunk. */
  boxOf(chunk: number): Box {
    return { offsets: this.sizesAt(chunk), sizes: this.sizesAt(chunk + 1 + this.#at(chunk)) };
  }

  /** The sizes that stand at a place: their number, then each. */
  sizesAt(at: number): number[] {
    const sizes: number[] = [];
    const end = at + 1 + this.#at(at);
    for (let next = at + 1; next < end; next++) sizes.push(this.#at(next));
    return sizes;
  }

  /** Whether two places hold the same sizes. */
  isSame(at: number, other: number): boolean {
    const dims = this.#at(at);
    for (let next = 0; next <= dims; next++) if (this.#at(at + next) !== this.#at(other + next)) return false;
    return true;
  }

  /** The name in an index. */
  nameOf(index: number): string {
    return this.#texts[this.#at(index)] ?? '';
  }

  /** The chunk that an index says that it is, by its place in the list; -1: it does not say. */
  hintOf(index: number): number {
    return this.#at(index + 1);
  }

  /** Where the offsets of an index stand; undefined: it is the index of an object. */
  offsetsOf(index: number): number | undefined {
    const dims = this.#at(index + 2);
    if (dims === NO_SIZE) throw new UnreadableSave(`Tensor ${this.nameOf(index)} has sizes that no tensor has`);
    return dims === ABSENT ? undefined : index + 2;
  }

  /** Where an item is. */
  itemOf(row: number): StoredItem {
    const transforms = this.#transforms[this.#at(row + 3)];
    const item = {
      file: this.#texts[this.#at(row)] ?? '',
      offset: this.#at(row + 1),
      length: this.#at(row + 2),
    };
    return transforms === undefined ? item : { ...item, transforms };
  }

  #addChunk(offsets: PickleValue | undefined, sizes: PickleValue | undefined): number {
    const row = this.#length;
    this.#addSizes(offsets);
    this.#addSizes(sizes);
    return row;
  }

  #addIndex(name: PickleValue | undefined, offset: PickleValue | undefined, hint: PickleValue | undefined): number {
    const row = this.#length;
    this.#add(this.#ordinalOf(textOf(name, 'the name in an index')));
    this.#add(typeof hint === 'number' ? hint : -1);
    if (Array.isArray(offset)) this.#addSizes(offset);
    else this.#add(ABSENT);
    return row;
  }

  #addItem([path, offset, length, transforms]: readonly PickleValue[]): number {
    const row = this.#length;
    this.#add(this.#ordinalOf(textOf(path, 'the path of an item')));
    this.#add(sizeOf(offset, 'the offset of an item'));
    this.#add(sizeOf(length, 'the length of an item'));
    this.#add(this.#ordinalOfTransforms(transforms));
    return row;
  }

  /** Nothing that is no size becomes one: its number of dims is below 0. */
  #addSizes(value: PickleValue | undefined): void {
    if (!isSizes(value)) this.#add(NO_SIZE);
    else {
      this.#add(value.length);
      for (const size of value) this.#add(size);
    }
  }

  #add(value: number): void {
    if (this.#length === this.#numbers.length) this.#grow();
    this.#numbers[this.#length++] = value;
  }

  #grow(): void {
    if (this.#length >= this.#maxNumbers)
      throw new UnreadableSave('It holds more chunks and items than its size explains');
    const wider = new Float64Array(Math.min(2 * this.#length, this.#maxNumbers));
    wider.set(this.#numbers);
    this.#numbers = wider;
  }

  #at(place: number): number {
    return this.#numbers[place] ?? NO_SIZE;
  }

  #ordinalOf(text: string): number {
    const known = this.#ordinals.get(text);
    if (known !== undefined) return known;
    this.#ordinals.set(text, this.#texts.length);
    return this.#texts.push(text) - 1;
  }

  #ordinalOfTransforms(value: PickleValue | undefined): number {
    if (!Array.isArray(value) || value.length === 0) return -1;
    if (value.length > MAX_TRANSFORMS) throw new UnreadableSave('It has an item with more transforms than DCP chains');
    return this.#transforms.push(value.map((transform) => textOf(transform, 'the transform of an item'))) - 1;
  }
}

/** Text of a bounded length. */
export function textOf(value: PickleValue | undefined, what: string): string {
  if (typeof value === 'string' && value.length <= MAX_TEXT) return value;
  throw new UnreadableSave(`It has no text for ${what}`);
}

/** Whether a value is the shape of a tensor. */
export function isSizes(value: PickleValue | undefined): value is number[] {
  return Array.isArray(value) && value.length <= MAX_DIMS && value.every(isSize);
}

function isSize(value: PickleValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function sizeOf(value: PickleValue | undefined, what: string): number {
  if (isSize(value)) return value;
  throw new UnreadableSave(`It has no number of at least 0 for ${what}`);
}
