/** CRC-32 of bytes that were read in parts and in any order. */

const POLYNOMIAL = 0xedb88320;
const BITS = 32;

/**
 * The CRC-32 of bytes with the CRC-32 `first` that are followed by `length` bytes with the CRC-32 `second`: what zlib's `crc32_combine` computes, by squaring the
 * matrix that appends one bit 0.
 */
export function combineCrc32(first: number, second: number, length: number): number {
  let crc = first;
  let operator = appendBits();
  // Two squarings make one bit a nibble's four, the next one a byte's eight.
  operator = squared(squared(squared(operator)));
  for (let left = length; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) crc = times(operator, crc);
    operator = squared(operator);
  }
  return (crc ^ second) >>> 0;
}

/** Appends one bit 0. */
function appendBits(): Uint32Array {
  return Uint32Array.from({ length: BITS }, (_, bit) => (bit === 0 ? POLYNOMIAL : 2 ** (bit - 1)));
}

function times(matrix: Uint32Array, vector: number): number {
  let sum = 0;
  for (let bit = 0; bit < BITS; bit++) if ((vector >>> bit) & 1) sum ^= matrix[bit] ?? 0;
  return sum >>> 0;
}

function squared(matrix: Uint32Array): Uint32Array {
  return matrix.map((column) => times(matrix, column));
}
