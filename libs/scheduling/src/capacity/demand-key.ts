import type { NodeDemand } from '@coxswain/fabric';

/** Every reconciliation asks for a key, and few demands differ. */
const keys = new WeakMap<NodeDemand, string>();

/** A key that is equal for equal demands. */
export function demandKey(demand: NodeDemand): string {
  const key = keys.get(demand) ?? JSON.stringify(demand);
  keys.set(demand, key);
  return key;
}

/** Whether the demand asks nothing of nodes, like that of a runtime that only sets variables. */
export function isEmptyDemand({ nodeSelector, tolerations, devices }: NodeDemand): boolean {
  return tolerations.length + Object.keys(nodeSelector).length + Object.keys(devices).length === 0;
}
