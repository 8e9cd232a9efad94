import { labelValueProblem } from '@coxswain/api-types';
import type { NodeFacts } from './fabric.ts';

/** What somebody says of a node, and under which key. */
export interface Said<V = string> {
  readonly key: string;
  readonly value: V;
}

/** What a node says under a key; undefined where it says nothing that could be a label's value. */
export type Speaker = (key: string) => Said | undefined;

export function speakerOf(node: NodeFacts): Speaker {
  const agreed = agreedAttributes(node);
  return (key) => {
    const value = node.overrides?.[key] ?? node.labels[key] ?? agreed.get(key);
    return typeof value === 'string' && isReadable(value) ? { key, value } : undefined;
  };
}

/** Whoever wrote it: the API server takes no other label, and names are made of values that hold neither control characters nor separators. */
export function isReadable(value: string): boolean {
  return value !== '' && labelValueProblem(value) === undefined;
}

/** DRA attributes that say where a node is stand on each of its devices; where two devices disagree, nothing is said. */
function agreedAttributes({ draDevices = [] }: NodeFacts): ReadonlyMap<string, string> {
  const agreed = new Map<string, string>();
  const disputed = new Set<string>();
  for (const device of draDevices) {
    for (const [key, value] of Object.entries(device)) {
      if (typeof value !== 'string') continue;
      if ((agreed.get(key) ?? value) !== value) disputed.add(key);
      agreed.set(key, value);
    }
  }
  for (const key of disputed) agreed.delete(key);
  return agreed;
}

export function firstSaid(say: Speaker, keys: readonly string[]): Said | undefined {
  return firstOf(keys, say);
}

export function firstOf<T, R>(all: readonly T[], find: (one: T) => R | undefined): R | undefined {
  for (const one of all) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
