/** Bytes of one element, by the name of the dtype without `torch.` (torch/csrc/DynamicTypes.cpp, c10/core/ScalarType.h). */
const BYTES_OF_DTYPE: Readonly<Record<string, number>> = {
  bool: 1,
  uint8: 1,
  int8: 1,
  uint16: 2,
  int16: 2,
  uint32: 4,
  int32: 4,
  uint64: 8,
  int64: 8,
  float16: 2,
  bfloat16: 2,
  float32: 4,
  float64: 8,
  complex32: 4,
  complex64: 8,
  complex128: 16,
  float8_e4m3fn: 1,
  float8_e4m3fnuz: 1,
  float8_e5m2: 1,
  float8_e5m2fnuz: 1,
  float8_e8m0fnu: 1,
  qint8: 1,
  quint8: 1,
  qint32: 4,
};

/** Other names of the same dtype. */
const ALIASES: Readonly<Record<string, string>> = {
  float: 'float32',
  double: 'float64',
  half: 'float16',
  long: 'int64',
  int: 'int32',
  short: 'int16',
  cfloat: 'complex64',
  cdouble: 'complex128',
  chalf: 'complex32',
};

/** The dtype's usual name: `long` is `int64`. */
export function usualDtype(dtype: string): string {
  return Object.hasOwn(ALIASES, dtype) ? (ALIASES[dtype] ?? dtype) : dtype;
}

/** Bytes of one element; undefined if the dtype is not known here. */
export function bytesOfDtype(dtype: string): number | undefined {
  return Object.hasOwn(BYTES_OF_DTYPE, dtype) ? BYTES_OF_DTYPE[dtype] : undefined;
}
