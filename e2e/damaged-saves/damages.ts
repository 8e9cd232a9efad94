/** Ways in which a save on disk is damaged, and the files of each engine that they change. */
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** Files of an engine's save that a damage changes. */
export interface SaveParts {
  /** File with the payload of one rank. */
  readonly shard: RegExp;
  /** File that the engine writes last, or without which the rest means nothing. */
  readonly marker: RegExp;
}

/** Directories of the save and of the one before it. */
export interface DamagedSave {
  readonly save: string;
  readonly before: string;
  readonly parts: SaveParts;
}

/** One damage. */
export interface Damage {
  readonly name: string;
  readonly apply: (damaged: DamagedSave) => void;
  /** Whether sizes and names of the files stay, so that only a request to verify finds it before a restart. */
  readonly keepsSizes: boolean;
}

const ZIP_SIGNATURES = [Buffer.from('PK\u0003\u0004', 'latin1'), Buffer.from('PK\u0001\u0002', 'latin1')];

/** The damages, in the order of the table. */
export const DAMAGES: readonly Damage[] = [
  {
    name: 'a flipped bit in the payload',
    keepsSizes: true,
    apply(damaged) {
      const path = shardOf(damaged);
      const bytes = readFileSync(path);
      const at = middleOfLargestItem(bytes);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      rewrite(path, bytes);
    },
  },
  {
    name: 'a shard of the save before',
    keepsSizes: true,
    apply(damaged) {
      const path = shardOf(damaged);
      const earlier = shardOf({ ...damaged, save: damaged.before });
      const { atime, mtime } = statSync(earlier);
      copyFileSync(earlier, path);
      utimesSync(path, atime, mtime);
    },
  },
  { name: 'a shard cut in half', keepsSizes: false, apply: (damaged) => cutInHalf(shardOf(damaged)) },
  { name: 'a missing shard', keepsSizes: false, apply: (damaged) => rmSync(shardOf(damaged)) },
  {
    name: 'a link in place of a shard',
    keepsSizes: false,
    apply(damaged) {
      const path = shardOf(damaged);
      const moved = `${damaged.save}.moved`;
      renameSync(path, moved);
      symlinkSync(moved, path);
    },
  },
  { name: 'no end marker', keepsSizes: false, apply: (damaged) => rmSync(markerOf(damaged)) },
  { name: 'half of the end marker', keepsSizes: false, apply: (damaged) => cutInHalf(markerOf(damaged)) },
];

/** The damage of this name. */
export function damageNamed(wanted: string): Damage {
  const found = DAMAGES.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no damage is called "${wanted}"`);
  return found;
}

function shardOf({ save, parts }: DamagedSave): string {
  return only(save, parts.shard);
}

function markerOf({ save, parts }: DamagedSave): string {
  return only(save, parts.marker);
}

/** The last file whose name matches: of several ranks the last. */
function only(directory: string, pattern: RegExp): string {
  const name = readdirSync(directory)
    .toSorted()
    .findLast((each) => pattern.test(each));
  if (name === undefined) throw new Error(`${directory} has no file like ${String(pattern)}`);
  return join(directory, name);
}

function cutInHalf(path: string): void {
  const { size, atime, mtime } = statSync(path);
  truncateSync(path, Math.floor(size / 2));
  utimesSync(path, atime, mtime);
}

/** A disk that loses a bit does not change the time of the file. */
function rewrite(path: string, bytes: Buffer): void {
  const { atime, mtime } = statSync(path);
  writeFileSync(path, bytes);
  utimesSync(path, atime, mtime);
}

/** Between the records of an archive; in the middle of a file that is none. */
function middleOfLargestItem(bytes: Buffer): number {
  const ends = [0, ...ZIP_SIGNATURES.flatMap((signature) => positionsOf(bytes, signature)), bytes.length].toSorted(
    (one, other) => one - other,
  );
  const gaps = ends.slice(1).map((end, index) => ({ start: ends[index] ?? 0, end }));
  const { start, end } = gaps.reduce((best, gap) => (gap.end - gap.start > best.end - best.start ? gap : best));
  return Math.floor((start + end) / 2);
}

function positionsOf(bytes: Buffer, signature: Buffer): readonly number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(signature); at >= 0; at = bytes.indexOf(signature, at + 1)) found.push(at);
  return found;
}
