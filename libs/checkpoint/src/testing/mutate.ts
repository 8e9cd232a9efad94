import { OP } from '../formats/pickle/opcodes.ts';

const OPCODES = Object.values(OP);

/** Numbers below a bound, the same for the same seed: a failure can be repeated. */
export function seededNumbers(seed: number): (below: number) => number {
  let state = (Math.abs(seed) % 2_147_483_646) + 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

type Next = (below: number) => number;

/** Ways to change a file. Each returns the bytes to go on with. */
const CHANGES: readonly ((bytes: Uint8Array, next: Next) => Uint8Array)[] = [
  // A bit.
  (bytes, next) => {
    const at = next(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << next(8));
    return bytes;
  },
  // A byte, to an opcode of pickle: one in two bytes of metadata is one.
  (bytes, next) => {
    bytes[next(bytes.length)] = OPCODES[next(OPCODES.length)] ?? 0;
    return bytes;
  },
  // A length or number of 1, 4 or 8 bytes, to one of the largest.
  (bytes, next) => bytes.fill(next(2) === 0 ? 0xff : 0x7f, next(bytes.length)).slice(0, bytes.length),
  (bytes, next) => {
    const at = next(bytes.length);
    return bytes.fill(0xff, at, at + ([1, 4, 8][next(3)] ?? 1));
  },
  // The end.
  (bytes, next) => bytes.subarray(0, next(bytes.length)),
  // A piece that stands twice, or not at all.
  (bytes, next) => {
    const [from, to] = [next(bytes.length), next(bytes.length)].toSorted((one, other) => one - other) as [
      number,
      number,
    ];
    return next(2) === 0
      ? Uint8Array.from([...bytes.subarray(0, to), ...bytes.subarray(from)])
      : Uint8Array.from([...bytes.subarray(0, from), ...bytes.subarray(to)]);
  },
];

/** A copy of a file with one to four changes. */
export function mutate(bytes: Uint8Array, next: Next): Uint8Array {
  let copy = Uint8Array.from(bytes);
  for (let left = 1 + next(4); left > 0 && copy.length > 0; left--) {
    const change = CHANGES[next(CHANGES.length)];
    copy = Uint8Array.from(change?.(copy, next) ?? copy);
  }
  return copy;
}
