/** Writes headers and the index of safetensors (github.com/huggingface/safetensors, README). */
import { bytesOfDtype } from '../../read/dtypes.ts';
import { volumeOf } from '../../read/saved-state.ts';
import { DTYPES, LENGTH_BYTES, MAX_HEADER, METADATA } from './read-safetensors.ts';

/** A tensor whose elements are all in one file, row by row. */
export interface WholeTensor {
  readonly key: string;
  /** As PyTorch calls it, without `torch.`. */
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** One file: its header, and the tensors in the order of their bytes. */
export interface SafetensorsFile<Tensor extends WholeTensor> {
  /** Length and header, padded so that elements begin at a multiple of 8. */
  readonly head: Uint8Array;
  readonly tensors: readonly Tensor[];
  /** Of the whole file. */
  readonly bytes: number;
}

const NAME_OF_DTYPE = new Map(Object.entries(DTYPES).map(([name, dtype]) => [dtype, name]));
const ALIGNMENT = 8;

/** Whether safetensors has this dtype. */
export function isSafetensorsDtype(dtype: string): boolean {
  return NAME_OF_DTYPE.has(dtype);
}

/** Bytes of the elements of a tensor. */
export function bytesOfTensor({ dtype, shape }: WholeTensor): number {
  return volumeOf(shape) * (bytesOfDtype(dtype) ?? 0);
}

/** A file that holds these tensors. Wide elements come first, so that each tensor begins at a multiple of its element. */
export function safetensorsFile<Tensor extends WholeTensor>(unsorted: readonly Tensor[]): SafetensorsFile<Tensor> {
  const tensors = unsorted.toSorted((one, other) => itemBytes(other) - itemBytes(one));
  let at = 0;
  const entries = tensors.map((tensor) => {
    const from = at;
    at += bytesOfTensor(tensor);
    const dtype = NAME_OF_DTYPE.get(tensor.dtype);
    if (dtype === undefined) throw new RangeError(`safetensors has no dtype ${tensor.dtype}`);
    return [tensor.key, { dtype, shape: tensor.shape, data_offsets: [from, at] }] as const;
  });
  // Transformers refuses files that do not name the library whose tensors they are.
  const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries([[METADATA, { format: 'pt' }], ...entries])));
  const padded = Math.ceil(json.length / ALIGNMENT) * ALIGNMENT;
  if (padded > MAX_HEADER) throw new RangeError('the header would be larger than safetensors reads');
  const head = new Uint8Array(LENGTH_BYTES + padded).fill(0x20);
  new DataView(head.buffer).setBigUint64(0, BigInt(padded), true);
  head.set(json, LENGTH_BYTES);
  return { head, tensors, bytes: head.length + at };
}

function itemBytes({ dtype }: WholeTensor): number {
  return bytesOfDtype(dtype) ?? 0;
}

/** Divides tensors into files of at most `fileBytes`, in their order. A larger tensor has a file of its own. */
export function divideIntoFiles<Tensor extends WholeTensor>(
  tensors: readonly Tensor[],
  fileBytes: number,
): readonly (readonly Tensor[])[] {
  const files: Tensor[][] = [[]];
  let room = fileBytes;
  for (const tensor of tensors) {
    const bytes = bytesOfTensor(tensor);
    if (bytes > room && files.at(-1)?.length !== 0) {
      files.push([]);
      room = fileBytes;
    }
    files.at(-1)?.push(tensor);
    room -= bytes;
  }
  return files;
}

/** The name of a file among `count`, as Transformers numbers them. */
export function weightsFileName(index: number, count: number): string {
  const digits = (number: number): string => String(number).padStart(5, '0');
  return `model-${digits(index + 1)}-of-${digits(count)}.safetensors`;
}

/** `model.safetensors.index.json`: which file holds which tensor. `conversionId` tells saves apart that were made from different ones. */
export function writeSafetensorsIndex(
  files: Iterable<readonly [path: string, tensors: readonly WholeTensor[]]>,
  conversionId: string,
): Uint8Array {
  const map: [string, string][] = [];
  let bytes = 0;
  for (const [path, tensors] of files) {
    for (const tensor of tensors) {
      map.push([tensor.key, path]);
      bytes += bytesOfTensor(tensor);
    }
  }
  map.sort(([one], [other]) => (one < other ? -1 : 1));
  const index = {
    metadata: { total_size: bytes, coxswain_conversion: conversionId },
    weight_map: Object.fromEntries(map),
  };
  return new TextEncoder().encode(`${JSON.stringify(index, null, 2)}\n`);
}
