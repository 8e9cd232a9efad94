import { UnreadableSave } from '../../read/unreadable-save.ts';

/** The integer of LONG1 and LONG4: little-endian two's complement. */
export function readLong(bytes: Uint8Array): number | bigint {
  const last = bytes.at(-1);
  if (last === undefined) return 0;
  // Offsets in files: each chunk has one.
  if (bytes.length <= 6 && last < 0x80) return bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
  if (bytes.length > 64) throw new UnreadableSave(`it holds an integer of ${String(bytes.length)} bytes`);
  const magnitude = bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const value = BigInt.asIntN(bytes.length * 8, magnitude);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
