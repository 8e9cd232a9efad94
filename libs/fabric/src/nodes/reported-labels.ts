import { labelValueProblem } from '@coxswain/api-types';
import type { NodeFacts } from './fabric.ts';

/** A value that a label, attribute or override reports of a node, and its key. */
export interface ReportedValue<V = string> {
  readonly key: string;
  readonly value: V;
}

/** Reads the value of a key; undefined if the node has none, or one that is no valid label value. */
export type LabelReader = (key: string) => ReportedValue | undefined;

/** Reads overrides of the Fabric resource first, then labels, then DRA attributes. */
export function labelReaderOf(node: NodeFacts): LabelReader {
  const agreed = agreedAttributes(node);
  return (key) => {
    const value = node.overrides?.[key] ?? node.labels[key] ?? agreed.get(key);
    return typeof value === 'string' && isReadable(value) ? { key, value } : undefined;
  };
}

/** Whether a value is a valid label value. Others are ignored, because names of places are made of values: they hold neither control characters nor separators. */
export function isReadable(value: string): boolean {
  return value !== '' && labelValueProblem(value) === undefined;
}

/** DRA attributes on which all devices of the node agree. An attribute that differs between devices reports nothing of the node. */
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

/** The value of the first key that has one. */
export function firstReported(labelOf: LabelReader, keys: readonly string[]): ReportedValue | undefined {
  return firstOf(keys, labelOf);
}

/** The first result that is defined. */
export function firstOf<T, R>(all: readonly T[], find: (one: T) => R | undefined): R | undefined {
  for (const one of all) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
