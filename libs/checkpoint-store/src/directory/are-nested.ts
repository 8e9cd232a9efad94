import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/** Whether one of two locations is inside of the other one, or both are the same: a save inside of another one is taken for a part of it. */
export async function areNested(one: string, other: string): Promise<boolean> {
  const [first, second] = [await placeOf(one), await placeOf(other)];
  return first.startsWith(second) || second.startsWith(first);
}

async function placeOf(location: string): Promise<string> {
  const place = location.startsWith('s3://') ? location : await realPlace(resolve(location));
  return `${place.replace(/\/+$/, '')}/`;
}

/** What does not exist yet is where its parent is. */
async function realPlace(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(await realPlace(parent), basename(path));
  }
}
