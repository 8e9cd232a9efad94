/** Reads how DCP puts names back into nested dicts and lists (`planner_data` of `.metadata`). */
import { PickleDict, PickleObject } from '../pickle/pickle-value.ts';
import { readPickle } from '../pickle/read-pickle.ts';
import { DcpRecords } from './dcp-records.ts';
import type { KeyPath } from './write-dcp-metadata.ts';

/** The keys that each name was made of; undefined if the metadata does not say, as Megatron's does not. */
export function readKeyPaths(metadata: Uint8Array): ReadonlyMap<string, KeyPath> | undefined {
  const root = readPickle(metadata, new DcpRecords(metadata.length).forms);
  const paths =
    root instanceof PickleObject && root.state instanceof PickleDict ? root.state.get('planner_data') : undefined;
  if (!(paths instanceof PickleDict)) return undefined;
  const found = new Map<string, KeyPath>();
  for (let at = 0; at + 1 < paths.entries.length; at += 2) {
    const [key, path] = [paths.entries[at], paths.entries[at + 1]];
    if (typeof key === 'string' && isKeyPath(path)) found.set(key, path);
  }
  return found;
}

function isKeyPath(value: unknown): value is KeyPath {
  return Array.isArray(value) && value.every((part) => typeof part === 'string' || typeof part === 'number');
}
