/** Does a safetensors file end before its last tensor? */
import { LENGTH_BYTES } from './read-safetensors.ts';

/** safetensors itself refuses larger headers. */
const MAX_HEADER = 100_000_000;

/** How many bytes from the start of a file show where it ends, by its first 8 bytes; undefined: they are no such length. */
export function headEnd(first: Uint8Array): number | undefined {
  if (first.length < LENGTH_BYTES) return LENGTH_BYTES;
  const bytes = Number(new DataView(first.buffer, first.byteOffset, first.byteLength).getBigUint64(0, true));
  return bytes > MAX_HEADER ? undefined : LENGTH_BYTES + bytes;
}

/** Where the last tensor ends, from the start of the file, by the file's head; undefined: the head does not say so, and proves nothing. */
export function lastTensorEnd(head: Uint8Array): number | undefined {
  try {
    const header: unknown = JSON.parse(new TextDecoder().decode(head.subarray(LENGTH_BYTES)));
    const ends = Object.values(header as Record<string, { data_offsets?: readonly unknown[] }>).map((entry) =>
      Number(entry.data_offsets?.[1] ?? 0),
    );
    const end = Math.max(0, ...ends);
    return Number.isSafeInteger(end) ? head.length + end : undefined;
  } catch {
    return undefined;
  }
}
