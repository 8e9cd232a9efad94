import { UnreadableSave } from '../../read/unreadable-save.ts';

/** States of users hold keys and seeds of cryptography; a hostile pickle can say any length. */
const MAX_BYTES = 4096;

/** The integer of LONG1 and LONG4: little-endian two's complement. */
export function readLong(bytes: Uint8Array): number | bigint {
  const last = bytes.at(-1);
  if (last === undefined) return 0;
  // Offsets in files: each chunk has one.
  if (bytes.length <= 6 && last < 0x80) return bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
  if (bytes.length > MAX_BYTES) throw new UnreadableSave(`it holds an integer of ${String(bytes.length)} bytes`);
  const digits = bytes.reduceRight((hex, byte) => hex + byte.toString(16).padStart(2, '0'), '');
  const value = BigInt.asIntN(bytes.length * 8, BigInt(`0x${digits}`));
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
