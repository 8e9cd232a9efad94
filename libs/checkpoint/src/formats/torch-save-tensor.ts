/** Reads what `data.pkl` of an archive of `torch.save` says of the tensor in it. */
import { usualDtype } from '../read/dtypes.ts';
import { volumeOf } from '../read/saved-state.ts';
import { PickleGlobal, PickleObject, PicklePersistent, type PickleValue } from './pickle/pickle-value.ts';
import { readPickle } from './pickle/read-pickle.ts';

/** A tensor in an archive. */
export interface ArchivedTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Elements from one index of each dim to the next. */
  readonly stride: readonly number[];
  /** Elements before the tensor's first one in its storage. */
  readonly storageOffset: number;
  /** The record `data/<storage>` with its elements. */
  readonly storage: string;
}

/** PyTorch makes tensors of at most 64 dims (`at::kVmapMaxTensorDims`). */
const MAX_DIMS = 64;

/** Dtypes by the class of storage that holds them. */
export const STORAGE_DTYPES: Readonly<Record<string, string>> = {
  BoolStorage: 'bool',
  ByteStorage: 'uint8',
  CharStorage: 'int8',
  ShortStorage: 'int16',
  IntStorage: 'int32',
  LongStorage: 'int64',
  HalfStorage: 'float16',
  BFloat16Storage: 'bfloat16',
  FloatStorage: 'float32',
  DoubleStorage: 'float64',
  ComplexFloatStorage: 'complex64',
  ComplexDoubleStorage: 'complex128',
};

/**
 * The tensor; undefined if the archive holds something else, or says it in a way that is not read here (a tensor subclass, say).
 * @throws UnreadableSave if `pickle` is no pickle.
 */
export function readArchivedTensor(pickle: Uint8Array): ArchivedTensor | undefined {
  return archivedTensor(readPickle(pickle));
}

/** The tensor that a value of `data.pkl` is; undefined if it is something else. */
export function archivedTensor(value: PickleValue): ArchivedTensor | undefined {
  const rebuilt = withoutWrappers(value);
  if (!(rebuilt instanceof PickleObject) || !Array.isArray(rebuilt.args)) return undefined;
  const [storage, storageOffset, shape, stride] = rebuilt.args;
  const named = storageOf(storage);
  if (named === undefined || !isSizes(shape) || !isSizes(stride) || stride.length !== shape.length) return undefined;
  if (!isSize(storageOffset)) return undefined;
  // _rebuild_tensor_v3 names the dtype itself, for dtypes that have no class of storage.
  const dtype = rebuilt.path === 'torch._utils._rebuild_tensor_v3' ? rebuilt.args[6] : named.made;
  const name = dtypeName(dtype);
  return name === undefined ? undefined : { dtype: name, shape, stride, storageOffset, storage: named.key };
}

/** Parameters wrap their tensor, and tensors with attributes are made by a call with the name of a call and its arguments. */
function withoutWrappers(value: PickleValue): PickleValue | undefined {
  if (!(value instanceof PickleObject) || !Array.isArray(value.args)) return value;
  if (PARAMETERS.has(value.path ?? '')) return value.args[0];
  if (value.path !== 'torch._tensor._rebuild_from_type_v2') return value;
  const [made, type, args] = value.args;
  const isPlain = type instanceof PickleGlobal && PLAIN_TYPES.has(type.path);
  return isPlain && made !== undefined && args !== undefined
    ? withoutParameter(new PickleObject(made, args))
    : undefined;
}

function withoutParameter(value: PickleObject): PickleValue | undefined {
  return PARAMETERS.has(value.path ?? '') && Array.isArray(value.args) ? value.args[0] : value;
}

const PARAMETERS: ReadonlySet<string> = new Set([
  'torch._utils._rebuild_parameter',
  'torch._utils._rebuild_parameter_with_state',
]);

/** Other subclasses of tensors can hold their elements in another form. */
const PLAIN_TYPES: ReadonlySet<string> = new Set(['torch.Tensor', 'torch.nn.parameter.Parameter']);

function storageOf(
  value: PickleValue | undefined,
): { readonly made: PickleValue | undefined; readonly key: string } | undefined {
  if (!(value instanceof PicklePersistent) || !Array.isArray(value.id)) return undefined;
  const [kind, made, key] = value.id;
  return kind === 'storage' && typeof key === 'string' ? { made, key } : undefined;
}

function dtypeName(value: PickleValue | undefined): string | undefined {
  if (!(value instanceof PickleGlobal) || value.module !== 'torch') return undefined;
  return Object.hasOwn(STORAGE_DTYPES, value.name) ? STORAGE_DTYPES[value.name] : usualDtype(value.name);
}

function isSizes(value: PickleValue | undefined): value is number[] {
  // A pickle can use one long list for the shape of each tensor.
  return Array.isArray(value) && value.length <= MAX_DIMS && value.every(isSize);
}

function isSize(value: PickleValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Whether elements follow each other as in C: the last dim moves fastest. Dims of one element do not matter. */
export function isRowMajor(shape: readonly number[], stride: readonly number[]): boolean {
  return shape.every((size, dim) => size <= 1 || stride[dim] === volumeOf(shape.slice(dim + 1)));
}
