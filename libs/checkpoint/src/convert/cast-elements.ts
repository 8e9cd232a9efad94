/** Turns float32 into bfloat16 and back. Nothing else is cast. */

/** The elements in another dtype. bfloat16 is rounded to nearest, ties to even, as PyTorch does. */
export function castElements(bytes: Uint8Array, from: string, to: string): Uint8Array {
  if (from === to) return bytes;
  if (from === 'float32' && to === 'bfloat16') return toBfloat16(bytes);
  if (from === 'bfloat16' && to === 'float32') return toFloat32(bytes);
  throw new RangeError(`${from} is not cast to ${to}`);
}

function toBfloat16(bytes: Uint8Array): Uint8Array {
  const wide = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const narrow = new Uint8Array(bytes.length / 2);
  for (let at = 0; at < narrow.length; at += 2) {
    const bits = wide.getUint32(2 * at, true);
    const isNan = (bits & 0x7fffffff) > 0x7f800000;
    // Rounding could carry a NaN over into infinity. PyTorch writes this one, or another one where it uses vector instructions.
    const rounded = isNan ? 0x7fc0 : (bits + 0x7fff + ((bits >>> 16) & 1)) / 0x10000;
    narrow[at] = rounded & 0xff;
    narrow[at + 1] = (rounded >>> 8) & 0xff;
  }
  return narrow;
}

function toFloat32(bytes: Uint8Array): Uint8Array {
  const wide = new Uint8Array(2 * bytes.length);
  for (let at = 0; at < bytes.length; at += 2) {
    wide[2 * at + 2] = bytes[at] ?? 0;
    wide[2 * at + 3] = bytes[at + 1] ?? 0;
  }
  return wide;
}
