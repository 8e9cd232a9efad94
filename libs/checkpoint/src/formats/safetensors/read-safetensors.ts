/** Reads headers of safetensors files: 8 bytes of length, JSON, then the tensors (github.com/huggingface/safetensors, README). */
import { z } from 'zod';
import { bytesOfDtype } from '../../read/dtypes.ts';
import { parseJson } from '../../read/parse-json.ts';
import { UnreadableSave } from '../../read/unreadable-save.ts';
import { volumeOf } from '../../read/saved-state.ts';

/** Bytes before the header. */
export const LENGTH_BYTES = 8;
/** safetensors itself refuses larger headers. */
export const MAX_HEADER = 100_000_000;

/** Not a tensor. */
export const METADATA = '__metadata__';

/** Names of dtypes in a header, and PyTorch's. */
export const DTYPES: Readonly<Record<string, string>> = {
  BOOL: 'bool',
  U8: 'uint8',
  I8: 'int8',
  U16: 'uint16',
  I16: 'int16',
  U32: 'uint32',
  I32: 'int32',
  U64: 'uint64',
  I64: 'int64',
  F16: 'float16',
  BF16: 'bfloat16',
  F32: 'float32',
  F64: 'float64',
  C64: 'complex64',
  F8_E4M3: 'float8_e4m3fn',
  F8_E5M2: 'float8_e5m2',
  F8_E8M0: 'float8_e8m0fnu',
};

/** A tensor of a file, or the part of one that the file holds. */
export interface FiledTensor {
  readonly key: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** From the start of the file. */
  readonly offset: number;
  readonly length: number;
  /** Where the part begins in the whole tensor, if PyTorch saved it distributed (HuggingFaceStorageWriter). */
  readonly savedOffsets?: readonly number[];
}

const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const Entry = z.looseObject({
  dtype: z.string(),
  shape: z.array(counter).max(64),
  data_offsets: z.tuple([counter, counter]),
});
const Sharding = z.record(z.string(), z.looseObject({ saved_offsets: z.array(counter).max(64) }));

/**
 * How many bytes the header has.
 * @throws UnreadableSave if the file of `fileBytes` cannot hold as many.
 */
export function headerBytes(first: Uint8Array, fileBytes: number): number {
  if (first.length < LENGTH_BYTES) throw new UnreadableSave('is shorter than the length of its header');
  const bytes = Number(new DataView(first.buffer, first.byteOffset, first.byteLength).getBigUint64(0, true));
  if (bytes > MAX_HEADER || bytes > fileBytes - LENGTH_BYTES)
    throw new UnreadableSave(`says that its header has ${String(bytes)} bytes, and the file has ${String(fileBytes)}`);
  return bytes;
}

/**
 * The tensors of a file, in the order of their bytes. They fill the file from the header to its end, without holes.
 * @throws UnreadableSave if they do not; the message continues a sentence that starts with the file.
 */
export function readSafetensors(header: Uint8Array, fileBytes: number): readonly FiledTensor[] {
  const entries = Object.entries(parseObject(header));
  const sharding = shardingOf(entries.find(([key]) => key === METADATA)?.[1]);
  const start = LENGTH_BYTES + header.length;
  const tensors = entries
    .filter(([key]) => key !== METADATA)
    .map(([key, entry]) => filedTensor(key, entry, start, sharding.get(key)))
    .toSorted((one, other) => one.offset - other.offset || one.length - other.length);
  let at = start;
  for (const { key, offset, length } of tensors) {
    if (offset !== at) throw new UnreadableSave(`has ${offset > at ? 'a hole' : 'an overlap'} before tensor ${key}`);
    at += length;
  }
  if (at !== fileBytes)
    throw new UnreadableSave(`has ${String(fileBytes)} bytes, and its tensors end at ${String(at)}`);
  return tensors;
}

function filedTensor(
  key: string,
  value: unknown,
  start: number,
  savedOffsets: readonly number[] | undefined,
): FiledTensor {
  const parsed = Entry.safeParse(value);
  if (!parsed.success)
    throw new UnreadableSave(`says of tensor ${key} neither dtype, shape nor place in a way that safetensors does`);
  const {
    dtype,
    shape,
    data_offsets: [from, to],
  } = parsed.data;
  const name = Object.hasOwn(DTYPES, dtype) ? DTYPES[dtype] : undefined;
  const elementBytes = name === undefined ? undefined : bytesOfDtype(name);
  if (elementBytes !== undefined && to - from !== volumeOf(shape) * elementBytes) {
    throw new UnreadableSave(`has ${String(to - from)} bytes for tensor ${key} of ${dtype} [${shape.join(', ')}]`);
  }
  if (to < from) throw new UnreadableSave(`says that tensor ${key} ends before it begins`);
  const tensor = { key, dtype: name ?? dtype, shape, offset: start + from, length: to - from };
  return savedOffsets === undefined ? tensor : { ...tensor, savedOffsets };
}

function shardingOf(metadata: unknown): ReadonlyMap<string, readonly number[]> {
  const text = z.looseObject({ DCP_SHARDING_INFO: z.string() }).safeParse(metadata);
  if (!text.success) return new Map();
  const sharding = Sharding.safeParse(parseObject(new TextEncoder().encode(text.data.DCP_SHARDING_INFO)));
  if (!sharding.success) throw new UnreadableSave('says in a broken way how PyTorch divided its tensors');
  return new Map(Object.entries(sharding.data).map(([key, { saved_offsets: offsets }]) => [key, offsets]));
}

function parseObject(json: Uint8Array): Record<string, unknown> {
  const value = parseJson(json);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UnreadableSave('has a header that is no JSON object');
}
