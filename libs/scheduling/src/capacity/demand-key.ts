import type { NodeDemand } from '@coxswain/fabric';

/** Demands are asked about with every look, and few are different. */
const keys = new WeakMap<NodeDemand, string>();

/** The same for demands that ask the same. */
export function demandKey(demand: NodeDemand): string {
  const key = keys.get(demand) ?? JSON.stringify(demand);
  keys.set(demand, key);
  return key;
}
