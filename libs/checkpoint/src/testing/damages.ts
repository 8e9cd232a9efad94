import { crc32 } from 'node:zlib';
import type { Level } from '../verify/finding.ts';
import { type SaveLook, verifySave } from '../verify/verify-save.ts';
import type { MemorySave } from './memory-save.ts';

/** A change of a save, and what a look at it has to find. */
export type Damage = readonly [
  what: string,
  found: [SaveLook['verdict'], Level],
  sentence: RegExp,
  change: (save: MemorySave) => void,
];

/** Looks at a save with what Node offers. */
export function look(save: MemorySave, level: Level = 'V3'): SaveLook {
  return save.run(verifySave(save.list(), { level, crc32 }));
}

/** Flips a bit of a tensor's first element. */
export function flipIn(save: MemorySave, tensor: string): void {
  const found = look(save, 'V1').state?.tensors.find(({ key }) => key === tensor);
  const { file, offset } = found?.chunks[0]?.item ?? { file: '', offset: 0 };
  save.edit(file, (bytes) => bytes.fill((bytes[offset] ?? 0) ^ 1, offset, offset + 1));
}

/** Replaces the first text that stands in a pickle. */
export function replaced(from: string, to: string): (pickle: string) => string {
  return (pickle) => {
    if (!pickle.includes(from)) throw new Error(`The pickle does not hold ${JSON.stringify(from)}.`);
    return pickle.replace(from, to);
  };
}
