/** CRC-32 of bytes that follow each other, from those of their parts: bytes that are read and written in one piece are looked at once. */

/** Of zlib, gzip and zip, lowest bit first. */
const POLYNOMIAL = 0xedb88320;
/** x^0 in this order of bits. */
const ONE = 0x80000000;

/** The product of two polynomials modulo that of CRC-32. */
function multiply(one: number, other: number): number {
  let product = 0;
  let factor = other;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((one & bit) !== 0) product ^= factor;
    factor = (factor & 1) === 0 ? factor >>> 1 : (factor >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}

/** x^(8 * 2^n) for each n. */
const POWERS = [0x00800000];
for (let n = 1; n < 53; n++) POWERS.push(multiply(POWERS[n - 1] ?? 0, POWERS[n - 1] ?? 0));

/** The CRC-32 of bytes that have `first`, followed by `length` bytes that have `second`. */
export function combineCrc32(first: number, second: number, length: number): number {
  let shifted = first;
  for (let [n, left] = [0, length]; left > 0; n++, left = Math.floor(left / 2))
    if (left % 2 === 1) shifted = multiply(shifted, POWERS[n] ?? 0);
  return (shifted ^ second) >>> 0;
}
